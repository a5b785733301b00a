//! Which pages of other sites may use `/preprocess`: all, where a signature or a token says who asks.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What is under it.
const ROOT: &str = "/preprocess/";
/// Routes that are for everybody, or prove by themselves who may use them.
const OPEN: [&str; 4] =
    ["/preprocess/health", "/preprocess/callback/", "/preprocess/uploads/", "/preprocess/blob/"];

/// Answers what browsers ask before they send, and says that answers may be read.
pub(crate) async fn cors<A: Future<Output = Response>>(
    mut request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let path = request.uri().path();
    if !path.starts_with(ROOT) {
        return answer(request).await;
    }
    if request.method() == Method::OPTIONS {
        return allowed(StatusCode::NO_CONTENT.into_response());
    }
    let proven = OPEN.iter().any(|open| path.starts_with(open)) || shows_token(request.headers());
    if proven {
        // Whoever is behind the guard judges a page by what it shows, not by where it comes from.
        request.headers_mut().remove(header::ORIGIN);
    }
    allowed(answer(request).await)
}

fn shows_token(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
}

fn allowed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Authorization"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
