//! The worked change "add a route" of `docs/writing-a-service.md`: the route itself, called over HTTP.

use crate::app::App;
use crate::drain::DrainSwitch;
use crate::error::ApiError;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use crate::router::answering;
use crate::{Admission, Bounds, ServerOptions, Services, WithoutToken};
use abide_coordinator::{Call, Coordinator, No, Options, Reply, ToCoordinator};
use abide_core::event::Sender;
use abide_core::json::Json as JsonText;
use abide_core::object::ObjectKey;
use abide_engine::{Answer, Engine, EngineOptions, Halt, Object, Registry, Turn};
use abide_store::memory::MemoryStore;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Serialize)]
struct BusyAnswer {
    busy: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BoardCall {
    Busy,
    Coordinator(Call),
}

#[derive(Serialize)]
#[serde(untagged)]
enum BoardReply {
    Busy(BusyAnswer),
    Coordinator(Reply),
}

/// A coordinator that knows one more call.
struct Board(Coordinator);

impl Object for Board {
    const KIND: &'static str = "coordinator";
    type Call = BoardCall;
    type Reply = BoardReply;
    type Message = ToCoordinator;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: BoardCall) -> Result<Answer<BoardReply>, Halt<No>> {
        let reply = match call {
            BoardCall::Busy => BoardReply::Busy(self.busy(turn)?),
            BoardCall::Coordinator(call) => BoardReply::Coordinator(now(self.0.call(turn, call)?)),
        };
        Ok(reply.into())
    }

    fn message(&self, _: &mut Turn<'_>, _: Option<&Sender>, _: ToCoordinator) -> Result<(), Halt<No>> {
        // Nothing begins, so that something is left to count.
        Ok(())
    }
}

impl Board {
    fn busy(&self, turn: &mut Turn<'_>) -> Result<BusyAnswer, Halt<No>> {
        match now(self.0.call(turn, Call::Stats)?) {
            Reply::Stats(stats) => Ok(BusyAnswer { busy: stats.pending + stats.processing }),
            other => unreachable!("stats are answered with {other:?}"),
        }
    }
}

fn now(answer: Answer<Reply>) -> Reply {
    match answer {
        Answer::Now(reply) => reply,
        Answer::Later(ticket) => unreachable!("a coordinator answers at once, not with {ticket}"),
    }
}

async fn busy(State(app): State<App>, At(name): At<String>) -> Result<Json<JsonText>, ApiError> {
    Ok(Json(app.ask(ObjectKey::new(Board::KIND, name)?, &BoardCall::Busy).await?))
}

fn routes() -> Routes {
    Routes::new().get("/coordinator/{name}/busy", Role::Read, "how many unfinished items", busy)
}

const TOKEN: &str = "abide_local";

/// The status and body of the answer to one request.
async fn ask(server: SocketAddr, line: &str, token: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn add_a_route() {
    let mut registry = Registry::new();
    registry.object(Board(Coordinator::new(&Options::default()))).unwrap();
    let store = Box::new(MemoryStore::new());
    let engine = Engine::start(store, registry, EngineOptions::default()).unwrap();
    let without_token = WithoutToken::MayDoNothing;
    let admission = Admission { without_token, local_token: Some(TOKEN.to_owned()) };
    let options = ServerOptions {
        max_body_bytes: 1_000,
        services: Services::default(),
        admission,
        bounds: Bounds::default(),
    };
    let (_switch, drain) = DrainSwitch::new();
    let app = App::new(engine.clone(), options, drain);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, answering(routes(), app)).into_future());

    let route = "GET /coordinator/demo/busy";
    let said = |status: &str, body: &str| (status.to_owned(), body.to_owned());
    assert_eq!(ask(server, route, TOKEN).await, said("200", r#"{"busy":0}"#));
    let submit = Call::submit(&json!({ "message": "hello", "delay": 0 })).unwrap();
    let call = BoardCall::Coordinator(submit);
    let object = ObjectKey::new(Board::KIND, "demo").unwrap();
    let body = JsonText::encode(&call).unwrap();
    engine.call(abide_engine::Call { object, body, key: None }).await.unwrap();
    assert_eq!(ask(server, route, TOKEN).await, said("200", r#"{"busy":1}"#));
    assert_eq!(ask(server, route, "abide_wrong").await.0, "401");
    assert_eq!(ask(server, &route.replace("GET", "POST"), TOKEN).await.0, "405");
    serving.abort();
    engine.stop().await;
}
