//! Who a request is from, and whether that is enough for its route.

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::role::Role;
use crate::tokens::{self, Book, Fingerprint, Kept, fingerprint, is_same};
use abide_engine::Engine;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};

/// Whom a server lets in.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// Who comes without a token.
    pub without_token: WithoutToken,
    /// A secret that allows everything: what lets commands of the user in whose server this is.
    pub local_token: Option<String>,
}

/// Who comes without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutToken {
    /// May do everything: the server is reached from this machine alone. Only what is for admins asks for a token once
    /// stores of organizations do.
    #[default]
    MayDoEverything,
    /// May use the routes that are for anyone.
    MayDoNothing,
}

/// Who a request is from: what they may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caller(pub(crate) Role);

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Caller, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Caller(Role::Anyone)))
    }
}

/// What a caller showed, to be looked at again while a long request lasts: a token may be revoked meanwhile.
#[derive(Debug)]
pub(crate) struct Credentials(HeaderMap);

impl FromRequestParts<App> for Credentials {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Credentials, Infallible> {
        let shown = parts.headers.get_all(header::AUTHORIZATION).iter();
        Ok(Credentials(shown.map(|value| (header::AUTHORIZATION, value.clone())).collect()))
    }
}

impl Credentials {
    /// Whether they are still enough for what needs `role`.
    pub(crate) async fn still_allow(&self, app: &App, role: Role) -> Result<(), ApiError> {
        let (caller, _) = app.access().caller(app.engine(), &self.0).await?;
        enough(caller, role)
    }
}

/// What tells callers apart.
#[derive(Debug)]
pub(crate) struct Access {
    without_token: WithoutToken,
    stores: Stores,
    local: Option<Fingerprint>,
    // Locked to put or copy a pointer.
    book: RwLock<Option<Arc<Book>>>,
}

/// Whether stores of organizations ask who somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    AskNobody,
    AskWhoItIs,
}

/// Whether a request carried a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Token,
    Nothing,
}

impl Access {
    pub(crate) fn new(admission: &Admission, stores: Stores) -> Access {
        Access {
            without_token: admission.without_token,
            stores,
            local: admission.local_token.as_deref().map(fingerprint),
            book: RwLock::new(None),
        }
    }

    /// Whether the server is meant to be reached from other machines.
    pub(crate) fn is_for_other_machines(&self) -> bool {
        self.without_token == WithoutToken::MayDoNothing
    }

    /// Who sent these headers. A token that is shown must be right, also where none is needed.
    pub(crate) async fn caller(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
    ) -> Result<(Caller, Shown), ApiError> {
        let Some(token) = bearer(headers)? else {
            let role = match (self.without_token, self.stores) {
                (WithoutToken::MayDoEverything, Stores::AskNobody) => Role::Admin,
                // An admin enters every organization's store and makes keys for it.
                (WithoutToken::MayDoEverything, Stores::AskWhoItIs) => Role::Operate,
                (WithoutToken::MayDoNothing, _) => Role::Anyone,
            };
            return Ok((Caller(role), Shown::Nothing));
        };
        let shown = fingerprint(token);
        if self.local.is_some_and(|local| is_same(&local, &shown)) {
            return Ok((Caller(Role::Admin), Shown::Token));
        }
        let book = self.book(engine).await?;
        // All of them are compared, so that the time says nothing about which.
        let known = book.tokens.iter().fold(None, |known: Option<&Kept>, kept| {
            if is_same(&kept.secret_sha256, &shown) { Some(kept) } else { known }
        });
        match known {
            Some(kept) => Ok((Caller(kept.info.role.role()), Shown::Token)),
            None => {
                let message = "the token is not known: it was revoked, or is not a token of this server";
                Err(ApiError::new(ErrorCode::Unauthorized, message))
            }
        }
    }

    /// What the keeper said last. Answers may overtake each other, so only a newer one counts.
    pub(crate) fn learn(&self, news: Book) -> Arc<Book> {
        let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
        match &*book {
            Some(known) if known.changes >= news.changes => Arc::clone(known),
            Some(_) | None => Arc::clone(book.insert(Arc::new(news))),
        }
    }

    async fn book(&self, engine: &Engine) -> Result<Arc<Book>, ApiError> {
        let known = self.book.read().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(book) => Ok(book),
            None => Ok(self.learn(tokens::book(engine).await?)),
        }
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = given.next() else { return Ok(None) };
    let token = first.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    match (token, given.next()) {
        (Some(token), None) if !token.is_empty() => Ok(Some(token)),
        _ => {
            let message = "the Authorization header cannot be read: send one as \"Bearer TOKEN\"";
            Err(ApiError::new(ErrorCode::Unauthorized, message))
        }
    }
}

/// Whether a caller may do what needs `role`.
pub(crate) fn enough(Caller(has): Caller, role: Role) -> Result<(), ApiError> {
    if has >= role {
        return Ok(());
    }
    if has == Role::Anyone {
        let message =
            format!("this needs a token with the role {role}: send it as \"Authorization: Bearer TOKEN\"");
        return Err(ApiError::new(ErrorCode::Unauthorized, message));
    }
    let message = format!("this needs a token with the role {role}: who asks has the role {has}");
    Err(ApiError::new(ErrorCode::Forbidden, message))
}
