//! .gz (several members) and .zst (several frames), read and written as what they hold.

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// How a file is packed, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstd,
}

/// Suffixes of other packed and of binary files, which cannot be written.
const UNWRITTEN: [&str; 18] = [
    "7z", "arrow", "br", "bz2", "bz3", "feather", "lz", "lz4", "lzma", "lzo", "parquet", "rar", "sz", "tar",
    "tgz", "xz", "z", "zip",
];

/// The suffix of a path in small letters.
pub fn suffix(path: &Path) -> String {
    path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default().to_ascii_lowercase()
}

impl Packing {
    pub fn of(path: &Path) -> Option<Self> {
        match suffix(path).as_str() {
            "gz" => Some(Packing::Gzip),
            "zst" => Some(Packing::Zstd),
            _ => None,
        }
    }
}

/// The suffix of a file that can be written only as what its name does not say.
pub fn unwritten(path: &Path) -> Option<String> {
    Some(suffix(path)).filter(|suffix| UNWRITTEN.contains(&suffix.as_str()))
}

/// The path without a compression suffix: what the content is called.
pub fn inner(path: &Path) -> PathBuf {
    match Packing::of(path) {
        Some(_) => path.with_extension(""),
        None => path.to_owned(),
    }
}

/// Reads `file` decompressed as the suffix of `path` says.
pub fn reader(path: &Path, file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(match Packing::of(path) {
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
        Some(Packing::Zstd) => Box::new(zstd::stream::read::Decoder::new(file)?),
        None => Box::new(file),
    })
}

/// Packs what is written as the suffix of a path says.
pub enum Writer<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Writer<W> {
    pub fn new(path: &Path, out: W) -> io::Result<Self> {
        Ok(match Packing::of(path) {
            Some(Packing::Gzip) => Writer::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Some(Packing::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Writer::Zstd(encoder)
            }
            None => Writer::Plain(out),
        })
    }

    fn out(&mut self) -> &mut dyn Write {
        match self {
            Writer::Plain(out) => out,
            Writer::Gzip(out) => out,
            Writer::Zstd(out) => out,
        }
    }

    /// Writes the end of what is packed.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Writer::Plain(out) => out.flush(),
            Writer::Gzip(out) => out.try_finish().and_then(|()| out.get_mut().flush()),
            Writer::Zstd(out) => out.do_finish().and_then(|()| out.get_mut().flush()),
        }
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out().write(bytes)
    }

    /// Hands on what is not packed; packed bytes go when there are enough of them.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Writer::Plain(out) => out.flush(),
            Writer::Gzip(_) | Writer::Zstd(_) => Ok(()),
        }
    }
}
