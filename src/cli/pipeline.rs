//! Inputs → workers → results in the order of the inputs, in bounded memory.
//!
//! One thread walks the inputs and packs pieces into chunks; workers read, sketch and do what a verb asks; the caller's
//! thread takes the results in order. A chunk needs one of a fixed number of tokens, which comes back when its results
//! have been taken: a slow document holds up at most that many chunks. The lines that wait share a budget of bytes.

use crate::args::{Common, Inputs};
use crate::budget::Budget;
use crate::input::{self, Fields, Piece, Problem, Reading, Tally, Walk};
use crate::interrupt::Interrupt;
use crate::kept::{Kept, Spilling};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use sketchdb::{Error, Sketch, Sketcher, Visit};
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// Chunks between the walk and the caller: so many for 256 MiB, that no thread waits for work while a commit is under way;
/// fewer for less.
const TOKENS: usize = 128;
const FEWEST_TOKENS: usize = 32;
/// A chunk is passed on when it holds this many pieces or bytes.
const CHUNK_PIECES: usize = 64;
const CHUNK_BYTES: usize = 1 << 18;
/// Bytes that no thread takes before the work begins.
const ROOM: usize = 16 << 20;
/// A line that takes more than this part of the memory is read as it comes.
const LINE_SHARE: usize = 32;

/// A document that was read and sketched.
pub struct Sketched {
    pub key: String,
    pub sketch: Sketch,
    /// The JSON line that it came in, when that was asked for.
    pub line: Option<io::Result<Kept>>,
    /// When it was seen, in seconds since 1970, when that was asked for and is known.
    pub seen_at: Option<u64>,
}

/// What the caller's thread is told.
pub enum Event<T> {
    /// The next result.
    Done(T),
    /// A page was seen again, of which the input has no text.
    Revisit(Visit),
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
            Event::Revisit(visit) => Event::Revisit(visit),
            Event::Problem(problem) => Event::Problem(problem),
            Event::Idle => Event::Idle,
        }
    }
}

/// How far the inputs have been read.
#[derive(Default)]
pub struct Meter {
    pub bytes: AtomicU64,
    pub tally: Tally,
}

struct Chunk<P> {
    number: u64,
    /// Bytes of input that the pieces hold.
    bytes: usize,
    pieces: Vec<P>,
}

/// Sketches every document of the inputs, lets `work` make something of each, and hands the results to `take` in order,
/// until `take` fails or a signal comes, which is [`Error::Cancelled`]. The files in `own` are no documents when they lie below
/// an input directory.
pub fn run<T: Send, E: From<Error>>(
    inputs: &Inputs,
    own: &[&Path],
    common: &Common,
    meter: &Arc<Meter>,
    sketcher: &Sketcher,
    work: impl Fn(Sketched) -> T + Sync,
    mut take: impl FnMut(Event<T>) -> Result<(), E>,
) -> Result<(), E> {
    let fields = Fields {
        id: inputs.id_field.clone(),
        text: inputs.text_field.clone(),
        time: inputs.time_field.clone(),
    };
    let reading = Reading { fields, extraction: sketcher.extraction() };
    let tokens = (common.memory >> 21).clamp(FEWEST_TOKENS, TOKENS);
    let (pieces_in, pieces) = bounded::<Chunk<Piece>>(tokens);
    let (results, results_out) = unbounded::<Chunk<Result<Event<T>, Error>>>();
    let (tokens_in, tokens_out) = bounded::<()>(tokens);
    let (going_on, stopped) = bounded::<()>(0);
    for _ in 0..tokens {
        let _ = tokens_in.send(());
    }
    // An eighth of the memory: the caches take the rest.
    let budget = Arc::new(Budget::new(common.memory / 8));
    let new_worker = || Worker {
        reading: &reading,
        keep_lines: inputs.keep_lines,
        meter,
        interrupt: &common.interrupt,
        work: &work,
        fresh: sketcher,
        sketcher: sketcher.clone(),
    };
    let walker = Walker {
        inputs: inputs.clone(),
        own: own.iter().map(|&path| path.to_owned()).collect(),
        meter: meter.clone(),
        held: (common.memory / LINE_SHARE).max(1 << 16),
        budget: budget.clone(),
        tokens: tokens_out,
        chunks: pieces_in,
        stopped: stopped.clone(),
    };
    let room = room();
    std::thread::scope(|scope| {
        let mut started = 0;
        // More than there are chunks would have nothing to do.
        while started < common.threads().min(tokens) {
            let (pieces, results, stopped) = (pieces.clone(), results.clone(), stopped.clone());
            let (budget, new_worker) = (&budget, &new_worker);
            let worker = Builder::new().name("sketch".into()).spawn_scoped(scope, move || {
                let mut worker = None;
                while let Some(Chunk { number, mut bytes, pieces }) = next_chunk(&pieces, &stopped) {
                    let worker = worker.get_or_insert_with(new_worker);
                    let done = pieces.into_iter().filter_map(|piece| worker.run(piece)).collect();
                    if !worker.keep_lines {
                        budget.give(std::mem::take(&mut bytes));
                    }
                    if results.send(Chunk { number, bytes, pieces: done }).is_err() {
                        return;
                    }
                }
            });
            match worker {
                Ok(_) => started += 1,
                Err(error) if started == 0 => return Err(no_thread(error).into()),
                // Those that there are do the work.
                Err(_) => break,
            }
        }
        drop((pieces, results, room));
        // Not of the scope: it may wait for stdin long after everything else has ended.
        Builder::new().name("read".into()).spawn(move || walker.walk()).map_err(no_thread)?;
        let ended = in_order(results_out, tokens_in, &budget, &common.interrupt, &mut take);
        drop(going_on);
        budget.close();
        ended
    })
}

/// Address space that is left for the work itself, however many threads there are.
fn room() -> Vec<u8> {
    let mut room = Vec::new();
    // Where there is less, there is less.
    let _ = room.try_reserve_exact(ROOM);
    std::hint::black_box(room)
}

fn no_thread(error: io::Error) -> Error {
    let source = io::Error::new(error.kind(), format!("{error}: use fewer --threads"));
    Error::Io { doing: "start a thread".into(), source }
}

/// The next chunk, `None` when there are no more or none are wanted.
fn next_chunk(pieces: &Receiver<Chunk<Piece>>, stopped: &Receiver<()>) -> Option<Chunk<Piece>> {
    crossbeam_channel::select! {
        recv(pieces) -> chunk => chunk.ok(),
        recv(stopped) -> _ => None,
    }
}

/// What a worker thread has at hand.
struct Worker<'a, W> {
    reading: &'a Reading,
    /// Whether a document's JSON line is handed on with it.
    keep_lines: bool,
    meter: &'a Meter,
    interrupt: &'a Interrupt,
    work: &'a W,
    fresh: &'a Sketcher,
    sketcher: Sketcher,
}

impl<T, W: Fn(Sketched) -> T> Worker<'_, W> {
    /// Makes of a piece what it is for, `None` of one that is no document. One that brings the worker down harms no other.
    fn run(&mut self, piece: Piece) -> Option<Result<Event<T>, Error>> {
        let piece = match piece {
            Piece::Revisit(visit) => return Some(Ok(Event::Revisit(visit))),
            Piece::Refused(error) => return Some(Err(error)),
            piece => piece,
        };
        let place = piece.place();
        let done =
            catch_unwind(AssertUnwindSafe(|| self.sketch(piece).map(|sketched| sketched.map(self.work))));
        let done = done.unwrap_or_else(|_| {
            self.sketcher = self.fresh.clone();
            Err(Problem::new(place, "an internal error; please report this document"))
        });
        match done {
            Ok(done) => done.map(|done| Ok(Event::Done(done))),
            Err(problem) => Some(Ok(Event::Problem(problem))),
        }
    }

    fn sketch(&mut self, piece: Piece) -> Result<Option<Sketched>, Problem> {
        let counted = !matches!(piece, Piece::File { .. });
        let (sketcher, meter, tally) = (&mut self.sketcher, self.meter, &self.meter.tally);
        let interrupt = self.interrupt;
        let mut take = |chunk: &[u8]| {
            // Nobody wants the sketch of a long document any more.
            if interrupt.check().is_ok() {
                sketcher.update(chunk);
            }
            if !counted {
                meter.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            }
        };
        let (read, line) = match piece {
            Piece::Line { ref bytes, .. } if self.keep_lines => {
                let line = Kept::Held(bytes.clone());
                (input::read(piece, self.reading, tally, &mut take), Some(Ok(line)))
            }
            Piece::Long { line, place } if self.keep_lines => {
                let mut line = Spilling::new(line);
                (input::read_long(&mut line, &place, &self.reading.fields, &mut take), Some(line.kept()))
            }
            other => (input::read(other, self.reading, tally, &mut take), None),
        };
        let mut sketch = self.sketcher.finish();
        let sketched = read?.map(|read| {
            sketch.replaced += read.replaced;
            Sketched { key: read.key, sketch, line, seen_at: read.seen_at }
        });
        Ok(sketched)
    }
}

/// What the walking thread has at hand.
struct Walker {
    inputs: Inputs,
    own: Vec<PathBuf>,
    meter: Arc<Meter>,
    /// Bytes of a line that are held in memory.
    held: usize,
    budget: Arc<Budget>,
    tokens: Receiver<()>,
    chunks: Sender<Chunk<Piece>>,
    /// Hangs up when nobody wants anything any more.
    stopped: Receiver<()>,
}

impl Walker {
    fn walk(&self) {
        let (mut number, mut waiting, mut weight) = (0, Vec::new(), 0);
        let mut pass_on = |pieces: &mut Vec<Piece>| {
            if pieces.is_empty() {
                return true;
            }
            let bytes = pieces.iter().map(Piece::bytes).sum();
            let chunk = Chunk { number, bytes, pieces: std::mem::take(pieces) };
            number += 1;
            self.budget.take(bytes);
            self.tokens.recv().is_ok() && self.chunks.send(chunk).is_ok()
        };
        let mut sink = |piece: Option<Piece>, now: bool| {
            // What passes by, and may be long in coming, holds nothing up that came before it.
            if piece.as_ref().is_some_and(Piece::passes) {
                weight = 0;
                if !pass_on(&mut waiting) {
                    return false;
                }
            }
            weight += piece.as_ref().map_or(0, Piece::weight);
            waiting.extend(piece);
            if now || waiting.len() >= CHUNK_PIECES || weight >= CHUNK_BYTES {
                weight = 0;
                return pass_on(&mut waiting);
            }
            true
        };
        let count = |read| {
            self.meter.bytes.fetch_add(read, Ordering::Relaxed);
        };
        let mut walk = Walk::new(
            &self.inputs,
            &self.own,
            self.held,
            &count,
            &self.meter.tally,
            self.stopped.clone(),
            &mut sink,
        );
        if self.inputs.inputs.iter().all(|input| walk.input(input)) {
            pass_on(&mut waiting);
        }
    }
}

fn in_order<T, E: From<Error>>(
    results: Receiver<Chunk<Result<Event<T>, Error>>>,
    tokens: Sender<()>,
    budget: &Budget,
    interrupt: &Interrupt,
    take: &mut impl FnMut(Event<T>) -> Result<(), E>,
) -> Result<(), E> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    loop {
        interrupt.check()?;
        match results.recv_timeout(Duration::from_millis(100)) {
            Ok(chunk) => drop(early.insert(chunk.number, (chunk.bytes, chunk.pieces))),
            Err(RecvTimeoutError::Timeout) => take(Event::Idle)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        while let Some((bytes, pieces)) = early.remove(&next) {
            interrupt.check()?;
            next += 1;
            // The walk may have ended: nobody waits for the token then.
            let _ = tokens.try_send(());
            for piece in pieces {
                take(piece?)?;
            }
            budget.give(bytes);
        }
    }
}
