//! Ids of files, against those that an IPFS implementation gave the same bytes.

use abide_entities::limits::CHUNK_BYTES;
use abide_entities::{ContentId, FileHasher};

/// Byte `i` of every test file.
fn byte(i: usize) -> u8 {
    ((i * 31 + i / 256 * 7) & 255) as u8
}

fn id_of(bytes: usize) -> ContentId {
    let mut hasher = FileHasher::default();
    let mut at = 0;
    // Pieces that fit no chunk.
    while at < bytes {
        let piece: Vec<u8> = (at..bytes.min(at + 100_003)).map(byte).collect();
        hasher.update(&piece);
        at += piece.len();
    }
    let file = hasher.finish();
    assert_eq!(file.bytes, bytes as u64);
    file.id
}

#[test]
fn a_file_has_the_id_that_an_ipfs_node_gives_it() {
    let known = [
        (0, "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),
        (1, "bafkreidogqfzz75tpkmjzjke425xqcrmpcib2p5tg44hnbirumdbpl5adu"),
        (CHUNK_BYTES - 1, "bafkreid45rceq2rkdjbkcgnhuxn6jj4gi3kplfu3fmkit6eujauukxcbqq"),
        (CHUNK_BYTES, "bafkreietseox7mbu3i3vb7ros2unfux4aqryzvgytw7scpl5juzn65javy"),
        (CHUNK_BYTES + 1, "bafybeicouja4gg2waqb57du37qije2sp5slnazguiuchd2lj4gix54r2pa"),
        (2 * CHUNK_BYTES, "bafybeidxtwbfjuzuksbpwiugvlyc3bvbxow3adsce6u2jtqp3hyxxc4w7e"),
        (3 * CHUNK_BYTES + 5, "bafybeiae6yl25xkrbgulfztxr4tkzlzkr2uv6zdnh6e5rhqdr7x5z73zae"),
        (174 * CHUNK_BYTES, "bafybeiblbsv5a3wqsdcuiqzsbodtue2dbbwppjdjv7giyiyuqa2bxikayu"),
        (174 * CHUNK_BYTES + 1, "bafybeihr7g6tzxx3ngulodiuwm2mvgfumbxrp65wbw5gl2rpk3lrhcwfky"),
        (175 * CHUNK_BYTES, "bafybeid3jm36bl3nztzfihhfthc2ygx427eewt5xqcrwr5vwfuozvpgu5m"),
    ];
    for (bytes, cid) in known {
        assert_eq!(id_of(bytes).to_string(), cid, "{bytes} bytes");
    }
}
