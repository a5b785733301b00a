//! A TIFF writer that writes what it is told, also what no TIFF should be.

/// Either byte order, either size of offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flavour {
    pub(crate) little: bool,
    pub(crate) big_tiff: bool,
}

pub(crate) const CLASSIC: Flavour = Flavour { little: true, big_tiff: false };

/// One entry of a directory.
#[derive(Clone)]
pub(crate) enum Value {
    Short(Vec<u16>),
    Long(Vec<u32>),
    Rational(Vec<(u32, u32)>),
    Float(Vec<f32>),
    Bytes(Vec<u8>),
}

/// A page: its entries, and its strips or tiles as stored.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) entries: Vec<(u16, Value)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) tiled: bool,
}

impl Page {
    pub(crate) fn new(width: u32, height: u32, compression: u16, photometric: u16, bits: &[u16]) -> Page {
        let entries = vec![
            (256, Value::Long(vec![width])),
            (257, Value::Long(vec![height])),
            (258, Value::Short(bits.to_vec())),
            (259, Value::Short(vec![compression])),
            (262, Value::Short(vec![photometric])),
            (277, Value::Short(vec![bits.len() as u16])),
        ];
        Page { entries, chunks: Vec::new(), tiled: false }
    }

    pub(crate) fn with(mut self, tag: u16, value: Value) -> Page {
        self.entries.retain(|(other, _)| *other != tag);
        self.entries.push((tag, value));
        self
    }

    pub(crate) fn strips(self, rows: u32, chunks: Vec<Vec<u8>>) -> Page {
        Page { chunks, tiled: false, ..self.with(278, Value::Long(vec![rows])) }
    }

    pub(crate) fn tiles(self, width: u32, height: u32, chunks: Vec<Vec<u8>>) -> Page {
        let sized = self.with(322, Value::Long(vec![width])).with(323, Value::Long(vec![height]));
        Page { chunks, tiled: true, ..sized }
    }
}

pub(crate) fn write(flavour: Flavour, pages: &[Page]) -> Vec<u8> {
    let mut file = if flavour.little { b"II".to_vec() } else { b"MM".to_vec() };
    file.extend(u16_bytes(flavour, if flavour.big_tiff { 43 } else { 42 }));
    if flavour.big_tiff {
        file.extend(u16_bytes(flavour, 8));
        file.extend(u16_bytes(flavour, 0));
    }
    let mut link = file.len();
    file.extend(offset_bytes(flavour, 0));
    for page in pages {
        let mut entries = page.entries.clone();
        let mut offsets = Vec::new();
        for chunk in &page.chunks {
            offsets.push(file.len() as u32);
            file.extend_from_slice(chunk);
        }
        let (at, sizes) = if page.tiled { (324, 325) } else { (273, 279) };
        entries.push((at, Value::Long(offsets)));
        entries.push((sizes, Value::Long(page.chunks.iter().map(|chunk| chunk.len() as u32).collect())));
        entries.sort_by_key(|(tag, _)| *tag);
        link = directory(flavour, &mut file, link, &entries);
    }
    file
}

/// Appends a directory, points the link before it to it, and gives the place of its own link.
fn directory(flavour: Flavour, file: &mut Vec<u8>, link: usize, entries: &[(u16, Value)]) -> usize {
    let inline = if flavour.big_tiff { 8 } else { 4 };
    let mut records = Vec::new();
    for (tag, value) in entries {
        let (kind, count, mut bytes) = encode(flavour, value);
        if bytes.len() > inline {
            let at = file.len() as u64;
            file.extend_from_slice(&bytes);
            bytes = offset_bytes(flavour, at);
        }
        bytes.resize(inline, 0);
        records.push((*tag, kind, count, bytes));
    }
    let here = offset_bytes(flavour, file.len() as u64);
    file[link..link + here.len()].copy_from_slice(&here);
    if flavour.big_tiff {
        file.extend(offset_bytes(flavour, records.len() as u64));
    } else {
        file.extend(u16_bytes(flavour, records.len() as u16));
    }
    for (tag, kind, count, bytes) in records {
        file.extend(u16_bytes(flavour, tag));
        file.extend(u16_bytes(flavour, kind));
        file.extend(offset_bytes(flavour, count));
        file.extend(bytes);
    }
    let next = file.len();
    file.extend(offset_bytes(flavour, 0));
    next
}

fn encode(flavour: Flavour, value: &Value) -> (u16, u64, Vec<u8>) {
    match value {
        Value::Short(values) => {
            (3, values.len() as u64, values.iter().flat_map(|v| u16_bytes(flavour, *v)).collect())
        }
        Value::Long(values) => {
            (4, values.len() as u64, values.iter().flat_map(|v| u32_bytes(flavour, *v)).collect())
        }
        Value::Rational(values) => {
            let bytes =
                values.iter().flat_map(|(n, d)| [u32_bytes(flavour, *n), u32_bytes(flavour, *d)].concat());
            (5, values.len() as u64, bytes.collect())
        }
        Value::Float(values) => {
            (11, values.len() as u64, values.iter().flat_map(|v| u32_bytes(flavour, v.to_bits())).collect())
        }
        Value::Bytes(values) => (7, values.len() as u64, values.clone()),
    }
}

pub(crate) fn u16_bytes(flavour: Flavour, value: u16) -> [u8; 2] {
    if flavour.little { value.to_le_bytes() } else { value.to_be_bytes() }
}

pub(crate) fn u32_bytes(flavour: Flavour, value: u32) -> [u8; 4] {
    if flavour.little { value.to_le_bytes() } else { value.to_be_bytes() }
}

fn offset_bytes(flavour: Flavour, value: u64) -> Vec<u8> {
    match (flavour.big_tiff, flavour.little) {
        (true, true) => value.to_le_bytes().to_vec(),
        (true, false) => value.to_be_bytes().to_vec(),
        (false, _) => u32_bytes(flavour, value as u32).to_vec(),
    }
}
