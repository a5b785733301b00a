//! `/v1/tickets`: answers that come later.

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::At;
use crate::wait::Wait;
use abide_core::ticket::{Resolution, Ticket};
use abide_engine::RefusalClass;
use abide_store::view::TicketView;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
struct OpenTicket<'a> {
    ticket: &'a Ticket,
    state: &'static str,
}

/// A ticket's answer, waiting for it if asked to.
pub(crate) async fn show(
    State(app): State<App>,
    At(ticket): At<Ticket>,
    Params(wait): Params<Wait>,
) -> Result<Response, ApiError> {
    answer(&app, &ticket, wait.duration()?).await
}

/// The answer if it comes within `wait` and before the server drains, otherwise where to ask for it.
pub(crate) async fn answer(app: &App, ticket: &Ticket, wait: Duration) -> Result<Response, ApiError> {
    let place = (!wait.is_zero()).then(|| app.wait_place()).transpose()?;
    let view = tokio::select! {
        view = app.engine().ticket(ticket, wait) => view?,
        () = app.drain().begun() => app.engine().ticket(ticket, Duration::ZERO).await?,
    };
    drop(place);
    match view {
        Some(TicketView::Open) => {
            let location = [(header::LOCATION, format!("/v1/tickets/{ticket}"))];
            let body = Json(OpenTicket { ticket, state: "open" });
            Ok((StatusCode::ACCEPTED, location, body).into_response())
        }
        Some(TicketView::Resolved(Resolution::Reply(reply))) => Ok(Json(reply).into_response()),
        Some(TicketView::Resolved(Resolution::Refused { code, message })) => {
            Err(ApiError::refused(ErrorCode::Refused(RefusalClass::Conflict), code, message))
        }
        Some(TicketView::Resolved(Resolution::Gone)) => {
            Err(ApiError::new(ErrorCode::Gone, "the object was deleted before it answered: call it again"))
        }
        None => {
            let message = format!("there is no ticket {ticket}, or its answer is older than a day");
            Err(ApiError::new(ErrorCode::UnknownTicket, message))
        }
    }
}
