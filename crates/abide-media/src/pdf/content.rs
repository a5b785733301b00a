//! What a page draws, gone through for what the library passes over in silence: what is missing, what is damaged, and how much
//! there is to draw where forms draw forms.

use std::collections::HashMap;
use std::rc::Rc;

use hayro::hayro_syntax::content::ops::TypedInstruction;
use hayro::hayro_syntax::content::{TypedIter, UntypedIter};
use hayro::hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream};
use hayro::hayro_syntax::page::{Page, Resources};

use super::streams::Streams;
use crate::bounds::Bounds;
use crate::error::{MediaError, within};

/// What is known of a page whose content is whole.
pub(super) struct Content {
    /// Set unless something changes the colours of images on their way to the page.
    pub(super) keeps_colours: bool,
}

/// How deep forms draw forms. The library draws none that are deeper.
const DEPTH: u32 = 50;
/// What drawing a form takes beside its operators, in operators: its box clips, which goes through the rows of the page.
const FORM_OPERATORS: u64 = 100;
/// Bytes of a form that are decoded in the time of an operator. They are decoded each time that it is drawn.
const BYTES_PER_OPERATOR: u64 = 1_024;

pub(super) fn examine<'a>(
    page: &'a Page<'a>,
    streams: &mut Streams,
    bounds: &Bounds,
) -> Result<Content, MediaError> {
    for stream in contents(page)? {
        streams.data(&stream, "its content", bounds)?;
    }
    let mut walk = Walk {
        streams,
        bounds,
        parts: vec![Part::default()],
        places: HashMap::new(),
        next: Vec::new(),
        gone_through: 0,
        keeps_colours: true,
    };
    let named = Named { by: None, resources: Rc::new(page.resources().clone()) };
    walk.operators(PAGE, page.page_stream().unwrap_or_default(), &named)?;
    for annotation in
        page.raw().get::<Array<'_>>(b"Annots".as_slice()).iter().flat_map(Array::iter::<Dict<'_>>)
    {
        if let Some(appearance) = appearance(&annotation) {
            walk.draws(PAGE, appearance, &named);
        }
    }
    walk.forms()?;
    walk.is_drawn_in_time()?;
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

/// The page among the parts.
const PAGE: usize = 0;

/// The page or a form.
#[derive(Default)]
struct Part {
    /// What it takes without what it draws, in operators.
    own: u64,
    /// Which forms it draws, and how often.
    draws: HashMap<usize, u64>,
}

/// What names mean, and by which form they do; none for the page. A form without names of its own has those of what draws it.
#[derive(Clone)]
struct Named<'a> {
    by: Option<ObjectIdentifier>,
    resources: Rc<Resources<'a>>,
}

struct Walk<'w, 'a> {
    streams: &'w mut Streams,
    bounds: &'w Bounds,
    parts: Vec<Part>,
    /// Which part a form is, with the names that it has.
    places: HashMap<(ObjectIdentifier, Option<ObjectIdentifier>), usize>,
    /// Forms that were found and not gone through.
    next: Vec<(usize, Stream<'a>, Named<'a>)>,
    /// What all parts take together, each once.
    gone_through: u64,
    keeps_colours: bool,
}

impl<'a> Walk<'_, 'a> {
    fn operators(&mut self, part: usize, data: &[u8], named: &Named<'a>) -> Result<(), MediaError> {
        let resources = &*named.resources;
        let mut read = 0_u64;
        let mut operators = TypedIter::new(data);
        while let Some(operator) = operators.next() {
            read += 1;
            match operator {
                TypedInstruction::XObject(drawn) => {
                    let stream = resources.get_x_object(drawn.0).ok_or_else(|| {
                        MediaError::damaged(format!("it draws {}, which is not there", drawn.0.as_str()))
                    })?;
                    self.drawn(part, stream, named)?;
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
        self.parts[part].own += there + data.len() as u64 / BYTES_PER_OPERATOR;
        self.gone_through += self.parts[part].own;
        // Whatever is gone through is drawn at least once.
        within(TO_DRAW, self.gone_through, self.bounds.operators)
    }

    fn drawn(&mut self, part: usize, stream: Stream<'a>, named: &Named<'a>) -> Result<(), MediaError> {
        let kind = stream.dict().get::<Name<'_>>(b"Subtype".as_slice());
        match kind.as_deref() {
            Some(b"Image") => self.streams.image(&stream, &named.resources, self.bounds),
            Some(b"Form") => {
                self.draws(part, stream, named);
                Ok(())
            }
            // For printers only.
            Some(b"PS") => Ok(()),
            _ => Err(MediaError::damaged("it draws what is neither an image nor a form")),
        }
    }

    /// Takes note of a form that a part draws.
    fn draws(&mut self, part: usize, form: Stream<'a>, named: &Named<'a>) {
        let id = form.obj_id();
        let named = match form.dict().get::<Dict<'a>>(b"Resources".as_slice()) {
            Some(own) => Named { by: Some(id), resources: Rc::new(Resources::new(own)) },
            None => named.clone(),
        };
        let place = *self.places.entry((id, named.by)).or_insert_with(|| {
            self.parts.push(Part { own: FORM_OPERATORS, draws: HashMap::new() });
            self.next.push((self.parts.len() - 1, form, named));
            self.parts.len() - 1
        });
        *self.parts[part].draws.entry(place).or_default() += 1;
    }

    /// Goes through the forms, those first that are drawn the least deep.
    fn forms(&mut self) -> Result<(), MediaError> {
        for _ in 0..DEPTH {
            for (part, stream, named) in std::mem::take(&mut self.next) {
                self.streams.data(&stream, "a form", self.bounds)?;
                if stream.dict().get::<Array<'_>>(b"BBox".as_slice()).is_none() {
                    return Err(MediaError::damaged("a form does not say how large it is"));
                }
                let data =
                    stream.decoded_data().map_err(|_| MediaError::damaged("a form cannot be decoded"))?;
                self.operators(part, &data, &named)?;
            }
        }
        Ok(())
    }

    /// Refuses a page that takes too many operators, those of a form each time that it is drawn: a few forms that draw each other
    /// many times are a page that is never done.
    fn is_drawn_in_time(&self) -> Result<(), MediaError> {
        // What each part takes with forms of so many levels below it.
        let mut taken: Vec<u64> = self.parts.iter().map(|part| part.own).collect();
        for _ in 0..DEPTH {
            within(TO_DRAW, taken[PAGE], self.bounds.operators)?;
            let with_forms = |part: &Part| {
                let of_form = |(form, times): (&usize, &u64)| taken[*form].saturating_mul(*times);
                part.draws.iter().map(of_form).fold(part.own, u64::saturating_add)
            };
            let deeper: Vec<u64> = self.parts.iter().map(with_forms).collect();
            if deeper == taken {
                return Ok(());
            }
            taken = deeper;
        }
        within(TO_DRAW, taken[PAGE], self.bounds.operators)
    }
}

/// What a page has too much of, in words.
const TO_DRAW: &str = "the page in operators to draw, with those of its forms each time,";

/// Transfer functions change what images look like, and a device is not told of them.
fn keeps_colours(state: &Dict<'_>) -> bool {
    [&b"TR"[..], b"TR2"].into_iter().all(|key| match state.get::<Object<'_>>(key) {
        None => !state.contains_key(key),
        Some(Object::Name(_)) => true,
        Some(_) => false,
    })
}
