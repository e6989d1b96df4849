//! Random requests, retries and lost replies on many slots against a model of each slot.

use bytes::Bytes;
use nfs::v4::Status;
use random::Random;

use super::kit::{Client, Kit, caller};
use crate::Limits;
use crate::state::{Admitted, Sequenced};

const STEPS: u32 = 20_000;
const SLOTS: u32 = 8;
const REPLIES_BYTES: u64 = 64 * 1024;

/// A slot as a client sees it.
#[derive(Default)]
struct ModelSlot {
    sequence: u32,
    content: String,
    cached: bool,
    running: Option<Admitted>,
    /// Reply of the last request.
    reply: Option<Bytes>,
    executed: u32,
}

fn content(random: &Random) -> String {
    format!("call {}", random.below(4))
}

/// A request that the client of the model sends: a retry, the next one, or one out of order.
fn send(kit: &mut Kit, client: &Client, slot: u32, model: &mut ModelSlot, random: &Random) {
    let offset = [0, 0, 1, 1, 1, 2, u32::MAX][random.index(7)];
    let (sequence, new_content, cache) = (model.sequence.wrapping_add(offset), content(random), random.chance(60));
    let client = Client { caller: caller(random.below(20), client.caller.principal.user), ..client.clone() };
    let before = kit.state.totals(kit.now).replies_bytes;
    let sequenced = kit.sequence(&client, slot, sequence, &new_content, cache);
    match (offset, sequenced) {
        (1, Ok(Sequenced::Run(admitted))) => {
            assert!(model.running.is_none(), "two requests on a slot");
            let executed = model.executed + 1;
            *model = ModelSlot {
                sequence,
                content: new_content,
                cached: cache,
                running: Some(admitted),
                reply: None,
                executed,
            };
        }
        // No memory: a reply that is no larger than the one before always has some.
        (1, Err(Status::DELAY)) => {
            assert!(cache && model.running.is_none());
            assert_eq!(kit.state.totals(kit.now).replies_bytes, before);
        }
        (1, Err(Status::SEQ_MISORDERED)) => assert!(model.running.is_some()),
        (0, Err(Status::SEQ_MISORDERED)) => assert_eq!(model.sequence, 0),
        (0, Err(Status::SEQ_FALSE_RETRY)) => assert_ne!(model.content, new_content),
        (0, Err(Status::DELAY)) => assert!(model.running.is_some() && model.content == new_content),
        (0, Ok(Sequenced::Replay(reply))) => {
            assert!(model.cached && model.content == new_content);
            assert_eq!(Some(reply), model.reply);
        }
        (0, Ok(Sequenced::Uncached(_))) => {
            assert!(!model.cached && model.reply.is_some() && model.content == new_content)
        }
        (2 | u32::MAX, Err(Status::SEQ_MISORDERED)) => {}
        (offset, other) => panic!("{offset} {other:?}"),
    }
}

#[test]
fn every_request_is_executed_once_and_every_retry_gets_its_reply() {
    let random = Random::new(5);
    let mut kit = Kit::with(Limits { cached_replies_bytes: REPLIES_BYTES, ..Limits::default() });
    let clients: Vec<Client> = (1..=4).map(|user| kit.client(&format!("client {user}"), user)).collect();
    let mut slots: Vec<Vec<ModelSlot>> =
        clients.iter().map(|_| (0..SLOTS).map(|_| ModelSlot::default()).collect()).collect();
    for _ in 0..STEPS {
        let (number, slot) = (random.index(clients.len()), random.below(u64::from(SLOTS)) as u32);
        let model = &mut slots[number][slot as usize];
        if random.chance(50) {
            send(&mut kit, &clients[number], slot, model, &random);
        } else if let Some(admitted) = model.running.take() {
            let length = random.below(if random.chance(50) { 4097 } else { 200 });
            let reply =
                Bytes::from(random::pattern(random.next(), length.next_multiple_of(8))).slice(..length as usize);
            model.reply = Some(reply.clone());
            kit.state.complete(admitted, &[reply.slice(..reply.len() / 2), reply.slice(reply.len() / 2..)], kit.now);
        }
        if random.chance(1) {
            kit.state.connection_closed(crate::ConnectionId(random.below(20)), kit.now);
        }
        let kept = slots.iter().flatten().map(|slot| match (&slot.running, &slot.reply) {
            (Some(_), _) if slot.cached => 4096,
            (None, Some(reply)) if slot.cached => reply.len() as u64,
            _ => 0,
        });
        assert_eq!(kept.sum::<u64>(), kit.state.totals(kit.now).replies_bytes);
        assert!(kit.state.totals(kit.now).replies_bytes <= REPLIES_BYTES);
    }
    let executed: u32 = slots.iter().flatten().map(|slot| slot.executed).sum();
    assert!(executed > STEPS / 20, "only {executed} requests were executed");
}
