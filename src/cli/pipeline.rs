//! Inputs → workers → results in the order of the inputs, in bounded memory.
//!
//! One thread walks the inputs and packs pieces into chunks; workers read, sketch and do what a verb asks; the caller's
//! thread takes the results in order. A chunk needs one of a fixed number of tokens, which comes back when its results
//! have been taken: a slow document holds up at most that many chunks. The lines that wait share a budget of bytes.

use crate::args::{Common, Inputs};
use crate::budget::Budget;
use crate::input::{self, Fields, Piece, Problem, Walk};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use sketchdb::{Sketch, Sketcher};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Chunks between the walk and the caller.
const TOKENS: usize = 64;
/// A chunk is passed on when it holds this many pieces or bytes.
const CHUNK_PIECES: usize = 64;
const CHUNK_BYTES: usize = 1 << 18;

/// A document that was read and sketched.
pub struct Sketched {
    pub key: String,
    pub sketch: Sketch,
}

/// What the caller's thread is told.
pub enum Event<T> {
    /// The next result.
    Done(T),
    /// The next input could not be read.
    Problem(Problem),
    /// Nothing has come for a while: time to write out what waits.
    Idle,
}

impl<T> Event<T> {
    /// The event with something made of its result.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Event<U> {
        match self {
            Event::Done(done) => Event::Done(make(done)),
            Event::Problem(problem) => Event::Problem(problem),
            Event::Idle => Event::Idle,
        }
    }
}

/// How far the inputs have been read.
#[derive(Default)]
pub struct Meter {
    pub bytes: AtomicU64,
}

struct Chunk<P> {
    number: u64,
    /// Bytes of input that the pieces hold.
    bytes: usize,
    pieces: Vec<P>,
}

/// Sketches every document of the inputs, lets `work` make something of each, and hands the results to `take` in order,
/// until `take` fails.
pub fn run<T: Send, E>(
    inputs: &Inputs,
    common: &Common,
    meter: &Meter,
    sketcher: &Sketcher,
    work: impl Fn(Sketched) -> T + Sync,
    mut take: impl FnMut(Event<T>) -> Result<(), E>,
) -> Result<(), E> {
    let fields = Fields { id: inputs.id_field.clone(), text: inputs.text_field.clone() };
    let (pieces_in, pieces_out) = bounded::<Chunk<Piece>>(TOKENS);
    let (results_in, results_out) = unbounded::<Chunk<Result<T, Problem>>>();
    let (tokens_in, tokens_out) = bounded::<()>(TOKENS);
    for _ in 0..TOKENS {
        let _ = tokens_in.send(());
    }
    // An eighth of the memory: the caches take the rest.
    let budget = Budget::new(common.memory / 8);
    std::thread::scope(|scope| {
        let budget = &budget;
        scope.spawn(move || walk(inputs, meter, budget, &tokens_out, &pieces_in));
        for _ in 0..common.threads() {
            let (pieces, results) = (pieces_out.clone(), results_in.clone());
            let (work, fields, mut sketcher) = (&work, &fields, sketcher.clone());
            scope.spawn(move || {
                for chunk in pieces {
                    let done = chunk.pieces.into_iter().map(|piece| {
                        let from_line = matches!(piece, Piece::Line { .. });
                        sketch(piece, fields, &mut sketcher, meter, from_line).map(work)
                    });
                    let done = Chunk { number: chunk.number, bytes: 0, pieces: done.collect() };
                    budget.give(chunk.bytes);
                    if results.send(done).is_err() {
                        return;
                    }
                }
            });
        }
        drop((pieces_out, results_in));
        // Both channel ends go with it: when it gives up, the threads end.
        let ended = in_order(results_out, tokens_in, &mut take);
        budget.close();
        ended
    })
}

fn walk(
    inputs: &Inputs,
    meter: &Meter,
    budget: &Budget,
    tokens: &Receiver<()>,
    chunks: &Sender<Chunk<Piece>>,
) {
    let (mut number, mut waiting, mut bytes) = (0, Vec::new(), 0);
    let mut pass_on = |pieces: &mut Vec<Piece>| {
        if pieces.is_empty() {
            return true;
        }
        let chunk =
            Chunk { number, bytes: pieces.iter().map(Piece::bytes).sum(), pieces: std::mem::take(pieces) };
        number += 1;
        budget.take(chunk.bytes);
        tokens.recv().is_ok() && chunks.send(chunk).is_ok()
    };
    let mut sink = |piece: Piece, now: bool| {
        bytes += piece.bytes();
        waiting.push(piece);
        if now || waiting.len() >= CHUNK_PIECES || bytes >= CHUNK_BYTES {
            bytes = 0;
            return pass_on(&mut waiting);
        }
        true
    };
    let count = |read| {
        meter.bytes.fetch_add(read, Ordering::Relaxed);
    };
    let mut walk = Walk::new(inputs, &count, &mut sink);
    for input in &inputs.inputs {
        if !walk.input(input) {
            return;
        }
    }
    pass_on(&mut waiting);
}

fn sketch(
    piece: Piece,
    fields: &Fields,
    sketcher: &mut Sketcher,
    meter: &Meter,
    counted: bool,
) -> Result<Sketched, Problem> {
    let read = input::read(piece, fields, &mut |chunk| {
        sketcher.update(chunk);
        if !counted {
            meter.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
    });
    let mut sketch = sketcher.finish();
    read.map(|(key, replaced)| {
        sketch.replaced += replaced;
        Sketched { key, sketch }
    })
}

fn in_order<T, E>(
    results: Receiver<Chunk<Result<T, Problem>>>,
    tokens: Sender<()>,
    take: &mut impl FnMut(Event<T>) -> Result<(), E>,
) -> Result<(), E> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    loop {
        match results.recv_timeout(Duration::from_millis(100)) {
            Ok(chunk) => drop(early.insert(chunk.number, chunk.pieces)),
            Err(RecvTimeoutError::Timeout) => take(Event::Idle)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        while let Some(pieces) = early.remove(&next) {
            next += 1;
            // The walk may have ended: nobody waits for the token then.
            let _ = tokens.try_send(());
            for piece in pieces {
                take(piece.map_or_else(Event::Problem, Event::Done))?;
            }
        }
    }
}
