//! .gz (several members) and .zst (several frames) read as what they hold.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The path without a compression suffix: what the content is called.
pub fn inner(path: &Path) -> PathBuf {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz" | "zst") => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// Reads `file` decompressed as the suffix of `path` says.
pub fn reader(path: &Path, file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
        Some("zst") => Box::new(zstd::stream::read::Decoder::new(file)?),
        _ => Box::new(file),
    })
}
