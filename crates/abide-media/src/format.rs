//! What a file is, by its bytes and never by its name.

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// TIFF or BigTIFF.
    Tiff,
    /// PDF.
    Pdf,
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// WebP.
    Webp,
    /// GIF; only its first frame is an image here.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// JPEG 2000: a codestream or a JP2 file.
    Jpeg2000,
    /// HEIF with HEVC pictures, as telephones write it.
    Heic,
    /// HEIF with AV1 pictures.
    Avif,
    /// Word, OpenDocument and their kin.
    Document,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// ZIP, gzip, tar and their kin.
    Archive,
    /// Text of any kind.
    Text,
    /// None of these.
    Unknown,
}

/// What becomes of a file of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// [`tiff_to_jpeg`](crate::tiff_to_jpeg).
    Tiff,
    /// [`pdf_to_pages`](crate::pdf_to_pages).
    Pdf,
    /// [`variants`](crate::variants).
    Image,
    /// It stays as it is, for this reason.
    PassThrough(&'static str),
}

/// How many bytes [`Format::of`] looks at.
pub(crate) const LOOKED_AT: usize = 4096;

impl Format {
    /// Judges by the first bytes of a file.
    pub fn of(head: &[u8]) -> Format {
        if let Some(format) = by_signature(head) {
            return format;
        }
        match infer::get(head) {
            Some(kind) => by_mime(kind.mime_type(), kind.matcher_type()),
            None if is_text(head) => Format::Text,
            None => Format::Unknown,
        }
    }

    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tiff => "TIFF",
            Format::Pdf => "PDF",
            Format::Jpeg => "JPEG",
            Format::Png => "PNG",
            Format::Webp => "WebP",
            Format::Gif => "GIF",
            Format::Bmp => "BMP",
            Format::Jpeg2000 => "JPEG 2000",
            Format::Heic => "HEIC",
            Format::Avif => "AVIF",
            Format::Document => "an office document",
            Format::Audio => "audio",
            Format::Video => "video",
            Format::Archive => "an archive",
            Format::Text => "text",
            Format::Unknown => "of an unknown format",
        }
    }

    /// What becomes of such a file.
    pub fn treatment(self) -> Treatment {
        match self {
            Format::Tiff => Treatment::Tiff,
            Format::Pdf => Treatment::Pdf,
            Format::Jpeg | Format::Png | Format::Webp | Format::Gif | Format::Bmp => Treatment::Image,
            Format::Jpeg2000 => Treatment::PassThrough("JPEG 2000 is not decoded"),
            Format::Heic => Treatment::PassThrough("HEIC is not decoded"),
            Format::Avif => Treatment::PassThrough("AVIF is not decoded"),
            Format::Document => Treatment::PassThrough("office documents are not converted"),
            Format::Audio => Treatment::PassThrough("audio is not converted"),
            Format::Video => Treatment::PassThrough("video is not converted"),
            Format::Archive => Treatment::PassThrough("archives are not unpacked"),
            Format::Text => Treatment::PassThrough("text needs no conversion"),
            Format::Unknown => Treatment::PassThrough("its format is not known"),
        }
    }
}

fn by_signature(head: &[u8]) -> Option<Format> {
    let starts = |signature: &[u8]| head.starts_with(signature);
    if starts(b"II\x2a\0") || starts(b"MM\0\x2a") || starts(b"II\x2b\0") || starts(b"MM\0\x2b") {
        return Some(Format::Tiff);
    }
    if starts(b"\xff\x4f\xff\x51") || starts(b"\0\0\0\x0cjP  \r\n\x87\n") {
        return Some(Format::Jpeg2000);
    }
    if starts(b"PK\x03\x04") && is_office(head) {
        return Some(Format::Document);
    }
    if head.get(4..8) == Some(b"ftyp") {
        return by_brands(head);
    }
    // Readers accept a PDF whose header is within the first 1,024 bytes.
    let window = &head[..head.len().min(1024)];
    window.windows(5).any(|five| five == b"%PDF-").then_some(Format::Pdf)
}

/// Office files are ZIP archives that begin with what says so.
fn is_office(head: &[u8]) -> bool {
    let first = head.get(30..).unwrap_or_default();
    let of_word = [&b"[Content_Types].xml"[..], b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/"];
    of_word.iter().any(|name| first.starts_with(name))
        || first.starts_with(b"mimetypeapplication/vnd.oasis.opendocument")
        || first.starts_with(b"mimetypeapplication/epub")
}

/// HEIC and AVIF name themselves as the major brand or among the compatible ones.
fn by_brands(head: &[u8]) -> Option<Format> {
    let length = u32::from_be_bytes(head.get(..4)?.try_into().ok()?) as usize;
    let brands = head.get(8..length.min(head.len()))?;
    for brand in brands.chunks_exact(4) {
        match brand {
            b"avif" | b"avis" => return Some(Format::Avif),
            b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" | b"mif1" | b"msf1" => {
                return Some(Format::Heic);
            }
            _ => {}
        }
    }
    None
}

fn by_mime(mime: &str, kind: infer::MatcherType) -> Format {
    match mime {
        "image/jpeg" => Format::Jpeg,
        "image/png" => Format::Png,
        "image/webp" => Format::Webp,
        "image/gif" => Format::Gif,
        "image/bmp" => Format::Bmp,
        _ => match kind {
            infer::MatcherType::Audio => Format::Audio,
            infer::MatcherType::Video => Format::Video,
            infer::MatcherType::Doc => Format::Document,
            infer::MatcherType::Archive => Format::Archive,
            infer::MatcherType::Text => Format::Text,
            _ => Format::Unknown,
        },
    }
}

fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        // A character may be cut by the end of what was read.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    valid > 0 && !head[..valid].iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127))
}
