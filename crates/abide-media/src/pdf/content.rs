//! What a page draws, gone through for what the library passes over in silence: what is missing and what is damaged.

use std::collections::HashSet;

use hayro::hayro_syntax::content::ops::TypedInstruction;
use hayro::hayro_syntax::content::{TypedIter, UntypedIter};
use hayro::hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream};
use hayro::hayro_syntax::page::{Page, Resources};

use super::streams::Streams;
use crate::bounds::Bounds;
use crate::error::MediaError;

/// What is known of a page whose content is whole.
pub(super) struct Content {
    /// Set unless something changes the colours of images on their way to the page.
    pub(super) keeps_colours: bool,
}

/// How deep forms draw forms. The library draws none that are deeper.
const DEPTH: u32 = 50;

pub(super) fn examine<'a>(
    page: &'a Page<'a>,
    streams: &mut Streams,
    bounds: &Bounds,
) -> Result<Content, MediaError> {
    for stream in contents(page)? {
        streams.data(&stream, "its content", bounds)?;
    }
    let mut walk = Walk { streams, bounds, forms: HashSet::new(), keeps_colours: true };
    walk.operators(page.page_stream().unwrap_or_default(), page.resources(), 0)?;
    for annotation in
        page.raw().get::<Array<'_>>(b"Annots".as_slice()).iter().flat_map(Array::iter::<Dict<'_>>)
    {
        if let Some(appearance) = appearance(&annotation) {
            walk.form(&appearance, page.resources(), 0)?;
        }
    }
    Ok(Content { keeps_colours: walk.keeps_colours })
}

/// The streams that make up the content. A page may have none.
fn contents<'a>(page: &Page<'a>) -> Result<Vec<Stream<'a>>, MediaError> {
    let lost = || MediaError::damaged("its content is not there");
    let raw: Option<MaybeRef<Object<'a>>> = page.raw().get_raw(b"Contents".as_slice());
    let found = match raw {
        None | Some(MaybeRef::NotRef(Object::Null(_))) => return Ok(Vec::new()),
        Some(MaybeRef::NotRef(object)) => object,
        Some(MaybeRef::Ref(id)) => page.xref().get(id.into()).ok_or_else(lost)?,
    };
    match found {
        Object::Stream(stream) => Ok(vec![stream]),
        Object::Array(array) => {
            let parts = array.raw_iter().map(|part| match part {
                MaybeRef::Ref(id) => page.xref().get::<Stream<'a>>(id.into()).ok_or_else(lost),
                MaybeRef::NotRef(_) => Err(lost()),
            });
            parts.collect()
        }
        _ => Err(lost()),
    }
}

/// What is drawn for an annotation in the state that it has.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Stream<'a>> {
    match annotation.get::<Dict<'a>>(b"AP".as_slice())?.get::<Object<'a>>(b"N".as_slice())? {
        Object::Stream(stream) => Some(stream),
        Object::Dict(states) => states.get(annotation.get::<Name<'a>>(b"AS".as_slice())?),
        _ => None,
    }
}

struct Walk<'w> {
    streams: &'w mut Streams,
    bounds: &'w Bounds,
    /// Forms of this page that were gone through.
    forms: HashSet<ObjectIdentifier>,
    keeps_colours: bool,
}

impl Walk<'_> {
    fn operators(&mut self, data: &[u8], resources: &Resources<'_>, depth: u32) -> Result<(), MediaError> {
        let mut read = 0_u64;
        let mut operators = TypedIter::new(data);
        while let Some(operator) = operators.next() {
            read += 1;
            match operator {
                TypedInstruction::XObject(drawn) => {
                    let stream = resources.get_x_object(drawn.0).ok_or_else(|| {
                        MediaError::damaged(format!("it draws {}, which is not there", drawn.0.as_str()))
                    })?;
                    self.drawn(&stream, resources, depth)?;
                }
                TypedInstruction::InlineImage(image) => {
                    self.streams.image(image.0, resources, self.bounds)?;
                }
                TypedInstruction::SetGraphicsState(named) => {
                    let state = resources.get_ext_g_state(named.0);
                    self.keeps_colours &= state.is_some_and(|state| keeps_colours(&state));
                }
                _ => {}
            }
        }
        // The library stops at a path that it does not understand.
        let mut all = UntypedIter::new(data);
        let mut there = 0_u64;
        while all.next().is_some() {
            there += 1;
        }
        if read < there {
            return Err(MediaError::damaged(format!(
                "operator {} of the {there} of its content cannot be read",
                read + 1
            )));
        }
        Ok(())
    }

    fn drawn(
        &mut self,
        stream: &Stream<'_>,
        resources: &Resources<'_>,
        depth: u32,
    ) -> Result<(), MediaError> {
        let kind = stream.dict().get::<Name<'_>>(b"Subtype".as_slice());
        match kind.as_deref() {
            Some(b"Image") => self.streams.image(stream, resources, self.bounds),
            Some(b"Form") => self.form(stream, resources, depth),
            // For printers only.
            Some(b"PS") => Ok(()),
            _ => Err(MediaError::damaged("it draws what is neither an image nor a form")),
        }
    }

    fn form(&mut self, stream: &Stream<'_>, outer: &Resources<'_>, depth: u32) -> Result<(), MediaError> {
        if depth == DEPTH || !self.forms.insert(stream.obj_id()) {
            return Ok(());
        }
        self.streams.data(stream, "a form", self.bounds)?;
        if stream.dict().get::<Array<'_>>(b"BBox".as_slice()).is_none() {
            return Err(MediaError::damaged("a form does not say how large it is"));
        }
        let data = stream.decoded_data().map_err(|_| MediaError::damaged("a form cannot be decoded"))?;
        match stream.dict().get::<Dict<'_>>(b"Resources".as_slice()) {
            Some(own) => self.operators(&data, &Resources::new(own), depth + 1),
            None => self.operators(&data, outer, depth + 1),
        }
    }
}

/// Transfer functions change what images look like, and a device is not told of them.
fn keeps_colours(state: &Dict<'_>) -> bool {
    [&b"TR"[..], b"TR2"].into_iter().all(|key| match state.get::<Object<'_>>(key) {
        None => !state.contains_key(key),
        Some(Object::Name(_)) => true,
        Some(_) => false,
    })
}
