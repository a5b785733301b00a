//! Pixels of 8 bits in memory, and which way up they are.

/// What a pixel consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Gray,
    Rgb,
}

impl Colour {
    pub(crate) fn channels(self) -> usize {
        match self {
            Colour::Gray => 1,
            Colour::Rgb => 3,
        }
    }
}

/// A picture, row by row without gaps.
#[derive(Clone, Debug)]
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) colour: Colour,
    pub(crate) data: Vec<u8>,
}

/// What goes with the pixels into a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attached {
    /// The ICC profile, if it is one for these pixels.
    pub(crate) profile: Option<Vec<u8>>,
    pub(crate) resolution: Option<Resolution>,
}

/// Dots per inch or per centimetre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolution {
    pub(crate) across: u16,
    pub(crate) down: u16,
    pub(crate) per: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Inch,
    Centimetre,
}

impl Attached {
    /// Takes a profile only if it describes pixels of this kind: one for CMYK would misread what was converted to RGB.
    pub(crate) fn new(profile: Option<Vec<u8>>, resolution: Option<Resolution>, colour: Colour) -> Attached {
        let space: &[u8] = match colour {
            Colour::Gray => b"GRAY",
            Colour::Rgb => b"RGB ",
        };
        Attached { profile: profile.filter(|profile| profile.get(16..20) == Some(space)), resolution }
    }
}

/// Which way up a picture is stored, as TIFF and Exif number it: 1 is upright.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orientation(u8);

impl Orientation {
    pub(crate) const UPRIGHT: Orientation = Orientation(1);

    /// Values that mean nothing are read as upright, as viewers do.
    pub(crate) fn new(value: u64) -> Orientation {
        match u8::try_from(value) {
            Ok(value @ 1..=8) => Orientation(value),
            _ => Orientation::UPRIGHT,
        }
    }

    pub(crate) fn swaps_sides(self) -> bool {
        self.0 >= 5
    }

    /// The sides of the upright picture.
    pub(crate) fn sides(self, width: u32, height: u32) -> (u32, u32) {
        if self.swaps_sides() { (height, width) } else { (width, height) }
    }

    /// The resolution of the upright picture.
    pub(crate) fn resolution(self, stored: Resolution) -> Resolution {
        let Resolution { across, down, per } = stored;
        if self.swaps_sides() { Resolution { across: down, down: across, per } } else { stored }
    }
}

impl Raster {
    /// The picture upright.
    pub(crate) fn upright(self, orientation: Orientation) -> Raster {
        if orientation == Orientation::UPRIGHT {
            return self;
        }
        let (width, height) = orientation.sides(self.width, self.height);
        let channels = self.colour.channels();
        let mut data = Vec::with_capacity(self.data.len());
        for y in 0..height as usize {
            for x in 0..width as usize {
                let at = self.source_of(x, y, orientation) * channels;
                data.extend_from_slice(&self.data[at..at + channels]);
            }
        }
        Raster { width, height, colour: self.colour, data }
    }

    /// The pixel that is shown at `(x, y)` of the upright picture.
    fn source_of(&self, x: usize, y: usize, orientation: Orientation) -> usize {
        let (right, bottom) = (self.width as usize - 1, self.height as usize - 1);
        let (column, row) = match orientation.0 {
            2 => (right - x, y),
            3 => (right - x, bottom - y),
            4 => (x, bottom - y),
            5 => (y, x),
            6 => (y, bottom - x),
            7 => (right - y, bottom - x),
            8 => (right - y, x),
            _ => (x, y),
        };
        row * self.width as usize + column
    }
}
