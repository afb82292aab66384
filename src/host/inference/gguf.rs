//! Reads the header of a GGUF file within bounds. Does not read weights.

use std::io::{BufRead, Read};

/// The most of anything that a header may count: metadata, tensors.
const MAX_COUNT: u64 = 65_536;
/// The longest name of a key or tensor in bytes.
const MAX_NAME_BYTES: u64 = 1024;
/// The longest string value in bytes.
const MAX_STRING_BYTES: u64 = 1 << 20;
/// The most items of one array.
const MAX_ITEMS: u64 = 1 << 22;
/// The longest header in bytes: it holds vocabularies.
const MAX_HEADER_BYTES: u64 = 256 << 20;
/// The most dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;
/// The most layers that llama.cpp has room for. It aborts the process on more, and on none.
const MAX_LAYERS: u64 = 512;
/// The most experts that it has room for; it aborts on more.
const MAX_EXPERTS: u64 = 1024;
/// Bytes that may follow the last tensor: padding is less.
const MAX_TRAILING_BYTES: u64 = 16 << 20;

/// The facts about a model in its file's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelHeader {
    /// The family, such as `llama`.
    pub architecture: String,
    /// The template that lays conversations out, where the file has one.
    pub chat_template: Option<String>,
    /// Tokens that the model was made for.
    pub context_length: Option<u64>,
    /// Under what terms it may be used, as the file says.
    pub license: Option<String>,
    /// Its own name.
    pub name: Option<String>,
    /// Tokens of its vocabulary.
    pub vocabulary: Option<u64>,
}

/// The reason why a file is no loadable model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// The system could not read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It begins with something else.
    #[error("it is no GGUF file: it does not begin with \"GGUF\"")]
    NotGguf,
    /// A version of the format that is not known.
    #[error("its GGUF version is {0}; 2 and 3 are known")]
    Version(u32),
    /// A count or length beyond every honest file.
    #[error("{what} at byte {at} is {got}, more than {max}")]
    TooLarge {
        /// The offset of the number.
        at: u64,
        /// The file's value.
        got: u64,
        /// The limit.
        max: u64,
        /// The name of the count.
        what: &'static str,
    },
    /// The file ends inside its header, or before its tensors do.
    #[error("it is cut off: {what} ends at byte {needed}, the file at {size}")]
    CutOff {
        /// The byte where it should end.
        needed: u64,
        /// Bytes of the file.
        size: u64,
        /// The cut-off part.
        what: &'static str,
    },
    /// The file continues long after its last tensor.
    #[error(
        "it has {size} bytes, and what its header tells of ends at byte {end}: the rest is no part of a model"
    )]
    TooLong {
        /// End of the last tensor.
        end: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// Anything else that breaks the format.
    #[error("at byte {at}: {rule}")]
    Broken {
        /// The byte.
        at: u64,
        /// The rule.
        rule: &'static str,
    },
}

impl ModelHeader {
    /// Reads a header from a source of `size` bytes.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(crate) fn parse(source: impl BufRead, size: u64) -> Result<Self, HeaderFault> {
        let mut reader = Reader {
            at: 0,
            size,
            source,
        };
        if reader.array::<4>("the first word").ok() != Some(*b"GGUF") {
            return Err(HeaderFault::NotGguf);
        }
        let version = reader.u32()?;
        if !matches!(version, 2 | 3) {
            return Err(HeaderFault::Version(version));
        }
        let tensors = reader.count("the number of tensors", MAX_COUNT)?;
        let pairs = reader.count("the number of metadata entries", MAX_COUNT)?;
        let mut header = Self::default();
        let mut lengths: Vec<(String, u64)> = Vec::new();
        let mut alignment = 32;
        for _ in 0..pairs {
            let key = reader.text(MAX_NAME_BYTES)?;
            let at = reader.at;
            let value = reader.value()?;
            check_size(&key, &value, at)?;
            match (key.as_str(), value) {
                ("general.architecture", ReadValue::Text(text)) => header.architecture = text,
                ("general.license", ReadValue::Text(text)) => header.license = Some(text),
                ("general.name", ReadValue::Text(text)) => header.name = Some(text),
                ("tokenizer.chat_template", ReadValue::Text(text)) => {
                    header.chat_template = Some(text);
                }
                ("general.alignment", ReadValue::Number(number)) => alignment = number,
                ("tokenizer.ggml.tokens", ReadValue::Items(items)) => {
                    header.vocabulary = Some(items);
                }
                (_, ReadValue::Number(number)) if key.ends_with(".context_length") => {
                    lengths.push((key, number));
                }
                _ => {}
            }
        }
        if !alignment.is_power_of_two() || alignment > 1 << 16 {
            let rule = "the alignment is no power of two up to 65536";
            return Err(HeaderFault::Broken {
                at: reader.at,
                rule,
            });
        }
        let own = format!("{}.context_length", header.architecture);
        let length = lengths.into_iter().find(|(key, _)| *key == own);
        header.context_length = length
            .map(|(_, length)| length)
            .filter(|length| *length > 0);
        let mut end = 0;
        for _ in 0..tensors {
            end = end.max(reader.tensor()?);
        }
        let data = reader.at.next_multiple_of(alignment);
        let needed = data.saturating_add(end);
        if tensors > 0 && needed > size {
            let what = "the tensors' data";
            return Err(HeaderFault::CutOff { needed, size, what });
        }
        // The author who names it would wait for all of it to be hashed.
        let end = if tensors > 0 { needed } else { reader.at };
        if size.saturating_sub(end) > MAX_TRAILING_BYTES {
            return Err(HeaderFault::TooLong { end, size });
        }
        Ok(header)
    }
}

/// Refuses what a file says of its model's size where llama.cpp would abort on it.
fn check_size(key: &str, value: &ReadValue, at: u64) -> Result<(), HeaderFault> {
    let ReadValue::Number(got) = *value else {
        return Ok(());
    };
    let (what, max) = match key.split_once('.').map_or("", |(_, rest)| rest) {
        "block_count" if got == 0 => {
            let rule = "a model without layers";
            return Err(HeaderFault::Broken { at, rule });
        }
        "block_count" => ("the number of layers", MAX_LAYERS),
        "expert_count" => ("the number of experts", MAX_EXPERTS),
        // llama.cpp would look for the other files by their names, and nothing here has read them.
        "count" if key.starts_with("split.") => {
            ("the number of files that the model is split into", 1)
        }
        _ => return Ok(()),
    };
    if got > max {
        return Err(HeaderFault::TooLarge { at, got, max, what });
    }
    Ok(())
}

/// The part of a value that is used here.
enum ReadValue {
    /// Number of items in an array.
    Items(u64),
    Number(u64),
    Text(String),
    Nothing,
}

struct Reader<R> {
    at: u64,
    size: u64,
    source: R,
}

impl<R: BufRead> Reader<R> {
    /// Takes the next `length` bytes out of what the file has.
    fn advance(&mut self, length: u64, what: &'static str) -> Result<(), HeaderFault> {
        let needed = self.at.saturating_add(length);
        if needed > self.size {
            let size = self.size;
            return Err(HeaderFault::CutOff { needed, size, what });
        }
        if needed > MAX_HEADER_BYTES {
            return Err(HeaderFault::TooLarge {
                at: self.at,
                got: needed,
                max: MAX_HEADER_BYTES,
                what: "the length of the header",
            });
        }
        self.at = needed;
        Ok(())
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], HeaderFault> {
        self.advance(N as u64, what)?;
        let mut bytes = [0; N];
        self.source
            .read_exact(&mut bytes)
            .map_err(|fault| HeaderFault::Unreadable(fault.to_string()))?;
        Ok(bytes)
    }

    fn skip(&mut self, length: u64) -> Result<(), HeaderFault> {
        self.advance(length, "the metadata")?;
        let skipped = std::io::copy(&mut (&mut self.source).take(length), &mut std::io::sink());
        match skipped {
            Ok(skipped) if skipped == length => Ok(()),
            Ok(_) => Err(HeaderFault::Unreadable(
                "it ended while it was read".to_owned(),
            )),
            Err(fault) => Err(HeaderFault::Unreadable(fault.to_string())),
        }
    }

    fn u16(&mut self) -> Result<u16, HeaderFault> {
        self.array("the header").map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, HeaderFault> {
        self.array("the header").map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, HeaderFault> {
        self.array("the header").map(u64::from_le_bytes)
    }

    fn count(&mut self, what: &'static str, max: u64) -> Result<u64, HeaderFault> {
        let at = self.at;
        let got = self.u64()?;
        if got > max {
            return Err(HeaderFault::TooLarge { at, got, max, what });
        }
        Ok(got)
    }

    fn text(&mut self, max: u64) -> Result<String, HeaderFault> {
        let length = self.count("the length of a string", max)?;
        self.advance(length, "a string")?;
        let mut bytes = Vec::new();
        let read = (&mut self.source).take(length).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 == length => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(_) => Err(HeaderFault::Unreadable(
                "it ended while it was read".to_owned(),
            )),
            Err(fault) => Err(HeaderFault::Unreadable(fault.to_string())),
        }
    }

    fn value(&mut self) -> Result<ReadValue, HeaderFault> {
        let at = self.at;
        let kind = self.u32()?;
        match kind {
            2 => self.u16().map(|number| ReadValue::Number(number.into())),
            4 => self.u32().map(|number| ReadValue::Number(number.into())),
            10 => self.u64().map(ReadValue::Number),
            8 => self.text(MAX_STRING_BYTES).map(ReadValue::Text),
            9 => {
                let at = self.at;
                let item = self.u32()?;
                let items = self.count("the number of an array's items", MAX_ITEMS)?;
                match (item, width(item)) {
                    (8, _) => {
                        for _ in 0..items {
                            let length = self.count("the length of a string", MAX_STRING_BYTES)?;
                            self.skip(length)?;
                        }
                    }
                    (_, Some(width)) => self.skip(items * width)?,
                    (_, None) => {
                        let rule = "an array of what is neither number nor string";
                        return Err(HeaderFault::Broken { at, rule });
                    }
                }
                Ok(ReadValue::Items(items))
            }
            _ => {
                let rule = "a value of an unknown type";
                let width = width(kind).ok_or(HeaderFault::Broken { at, rule })?;
                self.skip(width).map(|()| ReadValue::Nothing)
            }
        }
    }

    /// One tensor's entry; where its data ends, from the beginning of all data.
    fn tensor(&mut self) -> Result<u64, HeaderFault> {
        self.text(MAX_NAME_BYTES)?;
        let at = self.at;
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(HeaderFault::TooLarge {
                at,
                got: dimensions.into(),
                max: MAX_DIMENSIONS.into(),
                what: "the number of a tensor's dimensions",
            });
        }
        let mut elements: u64 = 1;
        for _ in 0..dimensions {
            elements = elements.saturating_mul(self.u64()?);
        }
        let at = self.at;
        let (block, bytes) = block(self.u32()?).ok_or(HeaderFault::Broken {
            at,
            rule: "a tensor of an unknown type",
        })?;
        let offset = self.u64()?;
        let size = elements.div_ceil(block).saturating_mul(bytes);
        Ok(offset.saturating_add(size))
    }
}

/// Bytes of a plain value's type.
const fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// Elements and bytes of one block of a tensor's type, as ggml numbers them.
const fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        24 => (1, 1),
        27 | 28 => (1, 8),
        29 => (256, 56),
        34 => (256, 54),
        39 => (32, 17),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
