//! A sync client on a socket, as far as a bench needs one.

use std::fmt::Write as _;
use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::super::BenchError;

/// Events that the published client pushes at a time.
pub(super) const EVENTS_PER_PUSH: u64 = 50;

/// A client of one store.
pub(super) struct Client {
    socket: WebSocketStream<TcpStream>,
    store: String,
}

/// A page of a pull, as far as it was read.
pub(super) struct Page {
    /// How many events it has.
    pub(super) events: u64,
    /// The number of the last.
    pub(super) last: u64,
    /// Whether there is no more for now.
    pub(super) is_last: bool,
}

impl Client {
    /// Opens a socket for `store`.
    pub(super) async fn open(address: SocketAddr, store: &str) -> Result<Client, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{address}/sync?storeId={store}&transport=ws");
        let small = WebSocketConfig::default().read_buffer_size(4 * 1024).write_buffer_size(0);
        let (socket, _) = client_async_with_config(url, stream, Some(small)).await.map_err(wrong)?;
        Ok(Client { socket, store: store.to_owned() })
    }

    /// Asks for the log from its beginning and for what comes.
    pub(super) async fn pull(&mut self) -> Result<(), BenchError> {
        let store = &self.store;
        self.send(format!(
            r#"{{"_tag":"Request","id":"0","tag":"SyncWsRpc.Pull","payload":{{"storeId":"{store}","live":true,"cursor":{{"_tag":"None"}}}},"headers":[]}}"#
        ))
        .await
    }

    /// Pushes so many events after `head` and waits until they are in the log.
    pub(super) async fn push(&mut self, head: u64, events: u64) -> Result<(), BenchError> {
        let store = &self.store;
        let mut text = format!(
            r#"{{"_tag":"Request","id":"1","tag":"SyncWsRpc.Push","headers":[],"payload":{{"storeId":"{store}","backendId":{{"_tag":"None"}},"batch":["#
        );
        for n in head..head + events {
            let comma = if n == head { "" } else { "," };
            let seq = n + 1;
            write!(
                text,
                r#"{comma}{{"name":"v1.LinkInteracted","args":{{"id":"interaction-{seq}","linkId":"link-{seq}","type":"opened","occurredAt":"2026-01-01T00:00:00.000Z"}},"seqNum":{seq},"parentSeqNum":{n},"clientId":"bench","sessionId":"bench"}}"#
            )
            .expect("writing to a string does not fail");
        }
        text.push_str("]}}");
        self.send(text).await?;
        let answer = self.next().await?;
        if answer.contains(r#""_tag":"Exit""#) && answer.contains(r#""_tag":"Success""#) {
            Ok(())
        } else {
            Err(BenchError::Wrong(format!("a push was answered with {answer}")))
        }
    }

    /// The next page of the pull.
    pub(super) async fn page(&mut self) -> Result<Page, BenchError> {
        let text = self.next().await?;
        if !text.starts_with(r#"{"_tag":"Chunk""#) {
            return Err(BenchError::Wrong(format!("a pull was answered with {text}")));
        }
        let last = text.rsplit_once(r#""seqNum":"#).map_or("0", |(_, rest)| rest);
        let digits = last.find(|c: char| !c.is_ascii_digit()).unwrap_or(last.len());
        Ok(Page {
            events: text.matches(r#""eventEncoded""#).count() as u64,
            last: last[..digits].parse().map_err(wrong)?,
            is_last: text.contains(r#""pageInfo":{"_tag":"NoMore"}"#),
        })
    }

    async fn send(&mut self, text: String) -> Result<(), BenchError> {
        self.socket.send(Message::text(text)).await.map_err(wrong)
    }

    async fn next(&mut self) -> Result<String, BenchError> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(other)) => return Err(BenchError::Wrong(format!("the server sent {other:?}"))),
                Some(Err(error)) => return Err(wrong(error)),
                None => return Err(BenchError::Wrong("the server closed a socket".into())),
            }
        }
    }
}

fn wrong(error: impl std::fmt::Display) -> BenchError {
    BenchError::Wrong(error.to_string())
}
