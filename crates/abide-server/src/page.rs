//! Pages of listings: how many items one may ask for.

use crate::error::ApiError;
use abide_core::limits::PAGE_ITEMS;

/// Items in a page if nobody says.
const USUAL: usize = 100;

/// The number of items asked for, checked.
pub(crate) fn items(limit: Option<usize>) -> Result<usize, ApiError> {
    match limit {
        None => Ok(USUAL),
        Some(limit) if (1..=PAGE_ITEMS).contains(&limit) => Ok(limit),
        Some(limit) => {
            Err(ApiError::bad(format!("limit is {limit}: ask for 1 to {PAGE_ITEMS} items at a time")))
        }
    }
}

/// Where the next page begins: at the last item if the page is full.
pub(crate) fn next<T, C>(items: &[T], limit: usize, cursor: impl Fn(&T) -> C) -> Option<C> {
    items.last().filter(|_| items.len() >= limit).map(cursor)
}
