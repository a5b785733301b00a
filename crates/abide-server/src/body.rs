//! Request bodies: read whole within a bound of bytes and time, then decoded.

use crate::app::App;
use crate::arriving::GivenUp;
use crate::code::ErrorCode;
use crate::error::ApiError;
use abide_core::json::Json;
use axum::body::Body;
use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How long the rest of a body that is too large is read and dropped, so that the client gets to read the answer.
pub(crate) const LINGERS: Duration = Duration::from_secs(2);

/// What to do about a body that is larger than what the server is told to take.
const RAISE: &str = "send less at a time, or raise server.max_body_bytes";

/// A JSON object of a known shape.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<JsonBody<T>, ApiError> {
        JsonBody::read(request, app, app.options().max_body_bytes, RAISE).await
    }
}

/// A JSON object of a known shape that has at most `BOUND` bytes.
pub(crate) struct SmallBody<T, const BOUND: usize>(pub(crate) T);

impl<T: DeserializeOwned, const BOUND: usize> FromRequest<App> for SmallBody<T, BOUND> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<SmallBody<T, BOUND>, ApiError> {
        let JsonBody(value) = JsonBody::read(request, app, BOUND, "send less at a time").await?;
        Ok(SmallBody(value))
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    async fn read(request: Request, app: &App, bound: usize, remedy: &str) -> Result<JsonBody<T>, ApiError> {
        let text = read(request.into_body(), app, bound, remedy).await?;
        if text.trim().is_empty() {
            return Err(ApiError::bad("the body is empty: send JSON"));
        }
        // A struct would also be read from an array of its fields, which nobody means.
        if !text.trim_start().starts_with('{') {
            return Err(not_json("it is not an object"));
        }
        let text = Json::parse(text).map_err(|error| not_json(&error.0))?;
        decode(text.as_str()).map(JsonBody)
    }
}

/// Any JSON, kept as text; an empty body is `null`.
pub(crate) struct AnyBody(pub(crate) Json);

impl FromRequest<App> for AnyBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<AnyBody, ApiError> {
        let text = read(request.into_body(), app, app.options().max_body_bytes, RAISE).await?;
        if text.trim().is_empty() {
            return Ok(AnyBody(Json::null()));
        }
        Json::parse(text).map(AnyBody).map_err(|error| not_json(&error.0))
    }
}

/// Text that has at most `BOUND` bytes, for whoever reads it to the letter.
pub(crate) struct TextBody<const BOUND: usize>(pub(crate) String);

impl<const BOUND: usize> FromRequest<App> for TextBody<BOUND> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<TextBody<BOUND>, ApiError> {
        read(request.into_body(), app, BOUND, "send less at a time").await.map(TextBody)
    }
}

/// An answer that is JSON text already.
pub(crate) fn json_text(text: &Json) -> Response {
    let mut response = Response::new(Body::from(text.as_str().to_owned()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Decodes text that should be JSON of a known shape.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    serde_json::from_str(text).map_err(|error| not_json(&error.to_string()))
}

fn not_json(reason: &str) -> ApiError {
    ApiError::bad(format!("the body cannot be read as the JSON that is expected here: {reason}"))
}

async fn read(mut body: Body, app: &App, bound: usize, remedy: &str) -> Result<String, ApiError> {
    let arrives = app.options().bounds.arrives;
    let whole = tokio::time::timeout(arrives, read_whole(&mut body, bound)).await;
    let bytes = match whole {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(Unread::TooLarge)) => {
            // Whether the client is done by then or not, it gets the same answer.
            drop(tokio::time::timeout(LINGERS, read_away(&mut body)).await);
            let message = format!("the body is larger than {bound} bytes: {remedy}");
            return Err(ApiError::new(ErrorCode::TooLarge, message));
        }
        Ok(Err(Unread::GivenUp)) => return Err(given_up()),
        Ok(Err(Unread::Broken(reason))) => {
            return Err(ApiError::bad(format!("the body broke off: {reason}")));
        }
        Err(_) => {
            let message = format!("the body did not arrive within {arrives:?}: send it again");
            return Err(ApiError::new(ErrorCode::RequestTimeout, message));
        }
    };
    String::from_utf8(bytes).map_err(|error| not_json(&format!("it is not UTF-8: {}", error.utf8_error())))
}

/// The answer to whoever sent so slowly that others got the connection.
pub(crate) fn given_up() -> ApiError {
    let message = "the body came too slowly while others waited for a connection: send it again";
    ApiError::new(ErrorCode::RequestTimeout, message).closing()
}

/// Why a body was not read to its end.
enum Unread {
    TooLarge,
    GivenUp,
    Broken(String),
}

async fn read_whole(body: &mut Body, bound: usize) -> Result<Vec<u8>, Unread> {
    // What announces too much need not come first.
    if body.size_hint().lower() > bound as u64 {
        return Err(Unread::TooLarge);
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.into_inner() {
            error if error.is::<GivenUp>() => Unread::GivenUp,
            error => Unread::Broken(error.to_string()),
        })?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > bound {
                return Err(Unread::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

async fn read_away(body: &mut Body) {
    while let Some(Ok(_)) = body.frame().await {}
}
