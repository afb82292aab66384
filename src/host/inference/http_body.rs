//! The body of an HTTP response. Unpacks gzip, which some servers and proxies send unasked, also without
//! saying so; knows no other compression.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

/// Bytes that are unpacked at once: a packed byte gives at most about a thousand.
const PIECE_BYTES: usize = 4096;
/// The first bytes of gzip. No JSON, event stream or binary frame begins with the first of them.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The most unpacked bytes of a body that may be of any ratio.
const BOMB_BYTES: usize = 8 * 1024 * 1024;
/// The most unpacked bytes for each packed one in a larger body: more are a bomb and no answer.
const MAX_RATIO: usize = 100;
/// Characters of an unknown compression that a fault shows.
const SHOWN_CHARS: usize = 40;

/// A body that is arriving.
#[derive(Debug)]
pub(crate) struct HttpBody {
    /// True once a byte came; a response without a body may still state a compression.
    is_begun: bool,
    /// Packed bytes that were unpacked, and the bytes that they gave.
    lengths: (usize, usize),
    /// Bytes that came and are still packed.
    pending: Bytes,
    response: Response,
    /// True if a body that begins like gzip is unpacked although no header says that it is packed.
    unnamed: bool,
    unpacked: Option<MultiGzDecoder<Vec<u8>>>,
}

/// The reason why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyFault {
    /// The server: so few bytes give so many that they are no answer.
    #[error(
        "the gzip of the answer unpacks to more than 8 MiB, and to more than 100 times its size"
    )]
    Bomb,
    /// The server: the compressed bytes are cut or broken.
    #[error("the gzip of the answer is damaged: {0}")]
    Damaged(io::Error),
    /// The network.
    #[error(transparent)]
    Network(#[from] reqwest::Error),
    /// The server: the compression is not known here.
    #[error(
        "the answer is compressed ({0}) although no request asks for that; turn compression off in the server or in the proxy before it"
    )]
    Packed(String),
}

impl HttpBody {
    /// The body of a response.
    ///
    /// # Errors
    /// [`BodyFault::Packed`]
    pub(crate) fn new(response: Response) -> Result<Self, BodyFault> {
        let encoding = response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let encoding = encoding.map(|value| value.trim().to_ascii_lowercase());
        let unpacked = match encoding.as_deref() {
            None | Some("" | "identity") => None,
            Some("gzip" | "x-gzip") => Some(MultiGzDecoder::new(Vec::new())),
            Some(other) => {
                return Err(BodyFault::Packed(other.chars().take(SHOWN_CHARS).collect()));
            }
        };
        Ok(Self {
            is_begun: false,
            lengths: (0, 0),
            pending: Bytes::new(),
            response,
            unnamed: false,
            unpacked,
        })
    }

    /// The same body, where nobody can have asked for the bytes of a packed file.
    pub(crate) fn of_text(self) -> Self {
        Self {
            unnamed: true,
            ..self
        }
    }

    /// True if the server says that it packed the body in a way that is unpacked here.
    pub(crate) const fn is_unpacked(&self) -> bool {
        self.unpacked.is_some()
    }

    /// The next bytes, never empty; `None` at the end.
    ///
    /// # Errors
    /// [`BodyFault::Bomb`], [`BodyFault::Damaged`], [`BodyFault::Network`]
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, BodyFault> {
        loop {
            if self.pending.is_empty() {
                match self.response.chunk().await? {
                    Some(bytes) => self.pending = bytes,
                    None => return self.rest(),
                }
            }
            if self.pending.is_empty() {
                continue;
            }
            let may_begin = !self.is_begun && self.unnamed && self.unpacked.is_none();
            if may_begin && begins_gzip(&self.pending) {
                self.unpacked = Some(MultiGzDecoder::new(Vec::new()));
            }
            self.is_begun = true;
            let Some(unpacked) = &mut self.unpacked else {
                return Ok(Some(std::mem::take(&mut self.pending).to_vec()));
            };
            let length = self.pending.len().min(PIECE_BYTES);
            let piece = self.pending.split_to(length);
            unpacked.write_all(&piece).map_err(BodyFault::Damaged)?;
            let bytes = std::mem::take(unpacked.get_mut());
            let (packed, given) = &mut self.lengths;
            *packed = packed.saturating_add(piece.len());
            *given = given.saturating_add(bytes.len());
            if *given > BOMB_BYTES && *given > packed.saturating_mul(MAX_RATIO) {
                return Err(BodyFault::Bomb);
            }
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
        }
    }

    /// The bytes that only the end of the body gives.
    fn rest(&mut self) -> Result<Option<Vec<u8>>, BodyFault> {
        let Some(unpacked) = self.unpacked.as_mut().filter(|_| self.is_begun) else {
            return Ok(None);
        };
        unpacked.try_finish().map_err(BodyFault::Damaged)?;
        let bytes = std::mem::take(unpacked.get_mut());
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

/// True if a body that begins with these bytes is packed. The second byte may come later.
fn begins_gzip(bytes: &[u8]) -> bool {
    let begin = bytes.get(..GZIP_MAGIC.len()).unwrap_or(bytes);
    !begin.is_empty() && GZIP_MAGIC.starts_with(begin)
}
