//! Compressed archives: members of gzip or frames of zstd, one after the other, told by their first bytes.
//!
//! A member that is damaged loses itself only: what follows is found by the bytes that members begin with, from some way
//! before the place where the decoder noticed: one that was cut had begun to read the next.

use super::again::Again;
use super::buffered::Buffered;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};
use zstd::stream::read::Decoder as ZstdDecoder;

const GZIP: &[u8] = b"\x1F\x8B\x08";
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";
/// A frame that is skipped; at the beginning it holds a dictionary (the IIPC's note on zstd and WARC).
const DICTIONARY: &[u8] = b"\x5D\x2A\x4D\x18";
/// Bytes of a dictionary.
const MOST_DICTIONARY: u64 = 16 << 20;
/// Bytes of the next member that a decoder may have read before it notices that its own was cut.
const OVERRUN: usize = 1 << 18;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

type Raw<R> = Buffered<R>;

enum State<R: Read> {
    /// Between members.
    Between(Raw<R>),
    Gzip(GzDecoder<Raw<R>>),
    Zstd(Box<ZstdDecoder<'static, Raw<R>>>),
    /// While the state changes, and when a decoder could not be made.
    Gone,
}

/// Reads what the members hold.
pub struct Members<R: Read> {
    state: State<R>,
    packing: Packing,
    dictionary: Vec<u8>,
    /// Where the last member began.
    began: u64,
    failed: bool,
    again: Again,
}

impl<R: Read> Members<R> {
    pub fn new(file: R) -> io::Result<Self> {
        let mut raw = Buffered::new(file).keeping(OVERRUN);
        let packing = match raw.peek(4)? {
            start if start.starts_with(GZIP) => Packing::Gzip,
            ZSTD | DICTIONARY => Packing::Zstd,
            _ => Packing::None,
        };
        let dictionary = if raw.peek(4)? == DICTIONARY { dictionary(&mut raw)? } else { Vec::new() };
        let (state, again) = (State::Between(raw), Again::default());
        Ok(Members { state, packing, dictionary, began: 0, failed: false, again })
    }

    /// Whether the last read failed.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// After an error, goes to where the next member may begin; false when there is none.
    pub fn recover(&mut self) -> io::Result<bool> {
        let mut raw = match std::mem::replace(&mut self.state, State::Gone) {
            State::Between(raw) => raw,
            State::Gzip(decoder) => decoder.into_inner(),
            State::Zstd(decoder) => decoder.finish(),
            State::Gone => return Ok(false),
        };
        let read = raw.position() - self.began;
        if read == 0 && !raw.peek(1)?.is_empty() {
            // What failed at its first byte is not to be found again.
            raw.consume(1);
        } else if read > 1 {
            let back = raw.behind().min(usize::try_from(read - 1).unwrap_or(usize::MAX));
            if self.again.allows(back as u64, raw.position()) {
                raw.back(back);
            }
        }
        let found = match self.packing {
            Packing::None => false,
            Packing::Gzip => raw.skip_to(&[GZIP])?,
            Packing::Zstd => raw.skip_to(&[ZSTD])?,
        };
        self.state = State::Between(raw);
        self.failed = false;
        Ok(found)
    }

    /// Begins the next member; false when there is none.
    fn begin(&mut self) -> io::Result<bool> {
        let State::Between(mut raw) = std::mem::replace(&mut self.state, State::Gone) else {
            return Ok(false);
        };
        let start = match raw.peek(4) {
            Ok(start) => start,
            Err(error) => {
                self.state = State::Between(raw);
                return Err(error);
            }
        };
        if start.is_empty() {
            self.state = State::Between(raw);
            return Ok(false);
        }
        if self.packing == Packing::Gzip && !start.starts_with(GZIP) {
            // So that what is no member is not tried again.
            raw.consume(1);
            self.state = State::Between(raw);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "bytes between members that are none of gzip",
            ));
        }
        self.began = raw.position();
        self.state = match self.packing {
            Packing::Gzip => State::Gzip(GzDecoder::new(raw)),
            _ => {
                let decoder = ZstdDecoder::with_dictionary(raw, &self.dictionary)?;
                State::Zstd(Box::new(decoder.single_frame()))
            }
        };
        Ok(true)
    }

    /// Ends the member.
    fn end(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Gzip(decoder) => State::Between(decoder.into_inner()),
            State::Zstd(decoder) => State::Between(decoder.finish()),
            state => state,
        };
    }
}

/// The dictionary that a file begins with, which may be compressed itself.
fn dictionary(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 8];
    raw.read_exact(&mut head)?;
    let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
    let mut bytes = Vec::new();
    raw.take(length.min(MOST_DICTIONARY)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a dictionary of zstd that is cut or larger than 16 MB",
        ));
    }
    if !bytes.starts_with(ZSTD) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    ZstdDecoder::with_buffer(&bytes[..])?.take(MOST_DICTIONARY).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.read_some(into);
        self.failed = read.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        read
    }
}

impl<R: Read> Members<R> {
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.state {
                State::Between(raw) if self.packing == Packing::None => return raw.read(into),
                State::Between(_) => match self.begin()? {
                    true => continue,
                    false => return Ok(0),
                },
                State::Gzip(decoder) => decoder.read(into)?,
                State::Zstd(decoder) => decoder.read(into)?,
                State::Gone => return Ok(0),
            };
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.end();
        }
    }
}
