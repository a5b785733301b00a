//! Whether the streams of a document are whole. The library draws what it can of a damaged one and says nothing.

use std::collections::HashSet;

use flate2::{Decompress, FlushDecompress, Status};
use hayro::hayro_syntax::Filter;
use hayro::hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro::hayro_syntax::page::Resources;
use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::jpeg;

/// The streams that were looked at, so that none is looked at on every page.
#[derive(Default)]
pub(super) struct Streams {
    whole: HashSet<ObjectIdentifier>,
}

impl Streams {
    /// Refuses what is not to be decoded to its end; `what` it holds is no image.
    pub(super) fn data(
        &mut self,
        stream: &Stream<'_>,
        what: &'static str,
        bounds: &Bounds,
    ) -> Result<(), MediaError> {
        if self.is_known(stream) {
            return Ok(());
        }
        let raw = stream.raw_data();
        if coding(stream, what)?.first() == Some(&Filter::FlateDecode) {
            match inflate(&raw, bounds, |_| {})?.0 {
                Inflated::Whole => {}
                Inflated::Cut => return Err(MediaError::damaged(format!("{what} ends too early"))),
                Inflated::Wrong => return Err(wrong_deflate(what)),
            }
        }
        let decoded = stream.decoded_data();
        decoded.map(drop).map_err(|_| MediaError::damaged(format!("{what} cannot be decoded")))
    }

    /// Refuses an image that lacks pixels, or whose mask does.
    pub(super) fn image(
        &mut self,
        stream: &Stream<'_>,
        resources: &Resources<'_>,
        bounds: &Bounds,
    ) -> Result<(), MediaError> {
        if self.is_known(stream) {
            return Ok(());
        }
        pixels(stream, resources, bounds)?;
        for mask in [&b"SMask"[..], b"Mask"] {
            if let Some(mask) = stream.dict().get::<Stream<'_>>(mask)
                && !self.is_known(&mask)
            {
                pixels(&mask, resources, bounds)?;
            }
        }
        Ok(())
    }

    /// Takes note of it. Images inside of a content stream have no name by which to know them.
    fn is_known(&mut self, stream: &Stream<'_>) -> bool {
        stream.dict().obj_id().is_some_and(|id| !self.whole.insert(id))
    }
}

/// The filters of a stream but for encryption, which the library takes away before.
fn coding(stream: &Stream<'_>, what: &str) -> Result<Vec<Filter>, MediaError> {
    let named = match entry::<Object<'_>>(stream.dict(), b"F", b"Filter") {
        Some(Object::Name(_)) => 1,
        Some(Object::Array(array)) => array.iter::<Object<'_>>().count(),
        Some(Object::String(_) | Object::Dict(_)) => {
            return Err(MediaError::unsupported(format!("{what} in another file")));
        }
        _ => 0,
    };
    let filters = stream.filters();
    if filters.len() < named {
        return Err(MediaError::damaged(format!("{what} is coded in a way that is not known")));
    }
    Ok(filters.into_iter().filter(|filter| *filter != Filter::Crypt).collect())
}

fn entry<'a, T>(dict: &Dict<'a>, short: &[u8], long: &[u8]) -> Option<T>
where
    T: TryFrom<Object<'a>>,
{
    let object = dict.get::<Object<'a>>(short).or_else(|| dict.get::<Object<'a>>(long))?;
    T::try_from(object).ok()
}

fn side(dict: &Dict<'_>, short: &[u8], long: &[u8]) -> Option<u32> {
    dict.get::<u32>(short).or_else(|| dict.get::<u32>(long)).filter(|side| *side > 0)
}

fn pixels(stream: &Stream<'_>, resources: &Resources<'_>, bounds: &Bounds) -> Result<(), MediaError> {
    let dict = stream.dict();
    let (Some(width), Some(height)) = (side(dict, b"W", b"Width"), side(dict, b"H", b"Height")) else {
        return Err(MediaError::damaged("an image does not say how large it is"));
    };
    within("an image on a page in pixels", u64::from(width) * u64::from(height), bounds.pixels)?;
    let raw = stream.raw_data();
    match *coding(stream, "an image")? {
        [Filter::DctDecode] => whole_jpeg(&raw, width, height),
        [Filter::CcittFaxDecode] => whole_fax(&raw, &parameters(dict, 0), height),
        [Filter::FlateDecode, Filter::DctDecode] => whole_jpeg(&inflated(&raw, bounds)?, width, height),
        [Filter::FlateDecode, Filter::CcittFaxDecode] => {
            whole_fax(&inflated(&raw, bounds)?, &parameters(dict, 1), height)
        }
        // Whether these can be decoded shows when the page is drawn.
        [.., Filter::DctDecode | Filter::CcittFaxDecode | Filter::Jbig2Decode | Filter::JpxDecode] => Ok(()),
        [Filter::FlateDecode] => {
            let (outcome, bytes) = inflate(&raw, bounds, |_| {})?;
            match outcome {
                Inflated::Whole | Inflated::Cut => {}
                Inflated::Wrong => return Err(wrong_deflate("an image")),
            }
            let bytes = without_predictors(bytes, &parameters(dict, 0));
            whole_samples(dict, resources, width, height, bytes)
        }
        _ => {
            let decoded = stream.decoded().map_err(|_| MediaError::damaged("an image cannot be decoded"))?;
            whole_samples(dict, resources, width, height, decoded.len() as u64)
        }
    }
}

fn wrong_deflate(what: &str) -> MediaError {
    MediaError::damaged(format!("the deflate data of {what} is wrong"))
}

/// What the filter at this place is told beside its data.
fn parameters<'a>(dict: &Dict<'a>, place: usize) -> Dict<'a> {
    let found = match entry::<Object<'a>>(dict, b"DP", b"DecodeParms") {
        Some(Object::Array(array)) => array.iter::<Object<'a>>().nth(place),
        other => other,
    };
    found.and_then(Object::into_dict).unwrap_or_default()
}

/// Where the JPEG and the document agree on its size, the JPEG has to have that many pixels. Where they do not, it is odd in a
/// way that the library copes with.
fn whole_jpeg(bytes: &[u8], width: u32, height: u32) -> Result<(), MediaError> {
    match jpeg::header(bytes) {
        Ok(header) if (header.width, header.height) == (width, height) => {
            // At an eighth, every coefficient is read and few pixels are computed.
            jpeg::decode_pixels(bytes, 1).map(drop)
        }
        _ => Ok(()),
    }
}

/// Counts rows.
struct Rows(u32);

impl hayro_ccitt::Decoder for Rows {
    fn push_row(&mut self, _: &[u32]) {
        self.0 += 1;
    }
}

fn whole_fax(bytes: &[u8], parameters: &Dict<'_>, height: u32) -> Result<(), MediaError> {
    let is = |key: &[u8], default| parameters.get::<bool>(key).unwrap_or(default);
    let settings = DecodeSettings {
        columns: parameters.get::<u32>(b"Columns".as_slice()).unwrap_or(1728),
        rows: height,
        end_of_block: is(b"EndOfBlock", true),
        end_of_line: is(b"EndOfLine", false),
        rows_are_byte_aligned: is(b"EncodedByteAlign", false),
        encoding: match parameters.get::<i32>(b"K".as_slice()).unwrap_or(0) {
            ..0 => EncodingMode::Group4,
            0 => EncodingMode::Group3_1D,
            1.. => EncodingMode::Group3_2D,
        },
        strict: false,
    };
    let mut rows = Rows(0);
    let outcome = hayro_ccitt::decode(bytes, &mut rows, &mut DecoderContext::new(settings));
    if rows.0 + LACKING_ROWS >= height {
        return Ok(());
    }
    let why = outcome.err().map(|error| format!(" ({error:?})")).unwrap_or_default();
    Err(MediaError::damaged(format!("the fax data of an image gives {} rows of {height}{why}", rows.0)))
}

/// Some programs count a row too many.
const LACKING_ROWS: u32 = 1;

fn whole_samples(
    dict: &Dict<'_>,
    resources: &Resources<'_>,
    width: u32,
    height: u32,
    bytes: u64,
) -> Result<(), MediaError> {
    let stencil = dict.get::<bool>(b"IM").or_else(|| dict.get::<bool>(b"ImageMask")).unwrap_or(false);
    let (samples, bits) = if stencil {
        (Some(1), 1)
    } else {
        let colours = entry::<Object<'_>>(dict, b"CS", b"ColorSpace");
        let bits = dict.get::<u8>(b"BPC").or_else(|| dict.get::<u8>(b"BitsPerComponent")).unwrap_or(8);
        (colours.map_or(Some(1), |colours| components(colours, resources)), bits)
    };
    let Some(samples) = samples else { return Ok(()) };
    let row = (u64::from(width) * samples * u64::from(bits)).div_ceil(8);
    let needed = row * u64::from(height);
    if bytes + row * u64::from(LACKING_ROWS) < needed || bytes == 0 {
        return Err(MediaError::damaged(format!("the data of an image gives {bytes} bytes of {needed}")));
    }
    Ok(())
}

/// How many samples a pixel has; none if that is not known.
fn components(colours: Object<'_>, resources: &Resources<'_>) -> Option<u64> {
    match colours {
        Object::Name(name) => device(&name).or_else(|| match resources.get_color_space(&name)? {
            Object::Name(name) => device(&name),
            Object::Array(array) => family(&array),
            _ => None,
        }),
        Object::Array(array) => family(&array),
        _ => None,
    }
}

fn device(name: &Name<'_>) -> Option<u64> {
    match &**name {
        b"DeviceGray" | b"G" | b"CalGray" => Some(1),
        b"DeviceRGB" | b"RGB" | b"CalRGB" => Some(3),
        b"DeviceCMYK" | b"CMYK" => Some(4),
        _ => None,
    }
}

fn family(array: &Array<'_>) -> Option<u64> {
    let mut parts = array.iter::<Object<'_>>();
    let name = parts.next()?.into_name()?;
    match &*name {
        b"Indexed" | b"I" | b"Separation" => Some(1),
        b"Lab" => Some(3),
        b"ICCBased" => parts.next()?.into_stream()?.dict().get::<u8>(b"N").map(u64::from),
        b"DeviceN" => Some(parts.next()?.into_array()?.iter::<Name<'_>>().count() as u64),
        _ => device(&name),
    }
}

/// Predictors of PNG put a byte before each row.
fn without_predictors(bytes: u64, parameters: &Dict<'_>) -> u64 {
    let number = |key: &[u8], default| u64::from(parameters.get::<u32>(key).unwrap_or(default));
    if number(b"Predictor", 1) < 10 {
        return bytes;
    }
    let row = (number(b"Colors", 1) * number(b"BitsPerComponent", 8)).saturating_mul(number(b"Columns", 1));
    bytes - bytes.div_ceil(row.div_ceil(8).saturating_add(1))
}

enum Inflated {
    Whole,
    /// It goes on behind what is there.
    Cut,
    Wrong,
}

/// The bytes inside, for a decoder that reads on.
fn inflated(raw: &[u8], bounds: &Bounds) -> Result<Vec<u8>, MediaError> {
    let mut kept = Vec::new();
    match inflate(raw, bounds, |piece| kept.extend_from_slice(piece))?.0 {
        Inflated::Whole | Inflated::Cut => Ok(kept),
        Inflated::Wrong => Err(wrong_deflate("an image")),
    }
}

/// Goes through deflate data; also says how many bytes came out. A stream that was flushed and not ended is whole, one
/// without its check sum, and one without the two bytes before it, if nothing follows it.
fn inflate(raw: &[u8], bounds: &Bounds, mut keep: impl FnMut(&[u8])) -> Result<(Inflated, u64), MediaError> {
    let most = bounds.memory_bytes;
    let headed = matches!(raw, [method, flags, ..]
        if method & 15 == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31));
    if raw.is_empty() {
        return Ok((Inflated::Whole, 0));
    }
    if !headed {
        let run = run(raw, Decompress::new(false), most, &mut keep)?;
        let outcome = match run.end {
            End::Reached if run.rest <= CHECK_BYTES => Inflated::Whole,
            End::Starved => Inflated::Cut,
            End::Reached | End::Refused => Inflated::Wrong,
        };
        return Ok((outcome, run.bytes));
    }
    let first = run(raw, Decompress::new(true), most, &mut keep)?;
    let outcome = match first.end {
        End::Reached => Inflated::Whole,
        End::Refused => Inflated::Wrong,
        End::Starved if raw.ends_with(&[0, 0, 0xff, 0xff]) => Inflated::Whole,
        End::Starved => match run(&raw[2..], Decompress::new(false), most, &mut |_| {})?.end {
            End::Reached => Inflated::Whole,
            End::Starved | End::Refused => Inflated::Cut,
        },
    };
    Ok((outcome, first.bytes))
}

const CHECK_BYTES: usize = 4;

struct Run {
    end: End,
    bytes: u64,
    /// Bytes that were not read.
    rest: usize,
}

enum End {
    Reached,
    Starved,
    Refused,
}

fn run(
    raw: &[u8],
    mut decoder: Decompress,
    most: u64,
    keep: &mut impl FnMut(&[u8]),
) -> Result<Run, MediaError> {
    let mut piece = vec![0; 64 << 10];
    let end = loop {
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let step = decoder.decompress(&raw[read as usize..], &mut piece, FlushDecompress::None);
        let got = (decoder.total_out() - written) as usize;
        within("the memory to read a stream in bytes", decoder.total_out(), most)?;
        keep(&piece[..got]);
        match step {
            Ok(Status::StreamEnd) => break End::Reached,
            Ok(_) if got == 0 && decoder.total_in() == read => break End::Starved,
            Ok(_) => {}
            Err(_) => break End::Refused,
        }
    };
    Ok(Run { end, bytes: decoder.total_out(), rest: raw.len() - decoder.total_in() as usize })
}
