#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::Run;
use crate::machine::{self, Machine};
use crate::tests::in_virtual_time;
use crate::world::World;

/// Moves bytes between both sessions and the array until nothing more happens at this instant.
async fn settle(sessions: &mut [&mut Session]) {
    for _ in 0..2000 {
        for session in &mut *sessions {
            session.step(Instant::now()).await;
        }
        tokio::task::yield_now().await;
    }
}

/// Two hosts with a session each. A write takes milliseconds, and the unit attention of a new nexus has been reported.
async fn two_hosts() -> (Run, [(Host, Session); 2]) {
    let mut world = World::of(1, 1);
    (world.hosts, world.volumes, world.faulty, world.digests) = (2, 1, false, false);
    (world.immediate, world.delay) = (false, 250);
    let shared = Rc::new(Shared::new(world, false));
    let run = Run::new(shared.clone());
    machine::format(&run.disk, 1).unwrap();
    let machine = Machine::start(&shared, &run.disk, run.began).await.unwrap();
    machine.furnish(&shared).await.unwrap();
    run.machine.replace(Some(machine));
    let mut hosts = Vec::new();
    for index in 0..2 {
        let mut host = Host::new(shared.clone(), index, run.connector(), 0);
        let session = run.poll_with(async {
            let mut session = host.login().await.unwrap();
            host.command(&mut session, Kind::TestUnitReady);
            host.answered(&mut session).await.unwrap();
            session
        });
        let session = session.await.unwrap();
        hosts.push((host, session));
    }
    (run, hosts.try_into().ok().unwrap())
}

/// A LOGICAL UNIT RESET ended the commands of all hosts, and when the connection that it had come through closed
/// before they were done, it went no further: the other hosts had neither responses nor the unit attention that says
/// why, and the reservation stayed.
#[test]
fn a_reset_whose_sender_is_gone_is_reported_to_the_sessions_whose_commands_it_ended() {
    in_virtual_time(async {
        let (run, [(mut sender, mut going), (mut other, mut session)]) = two_hosts().await;
        let reported = run.poll_with(async {
            other.command(&mut session, Kind::Write);
            settle(&mut [&mut session]).await;
            sender.reset(&mut going);
            settle(&mut [&mut session, &mut going]).await;
            other.take_events(&mut session).unwrap();
            sender.take_events(&mut going).unwrap();
            assert_eq!((session.outstanding.len(), going.functions.len()), (1, 1), "both are in progress");
            drop(going);
            sleep(Duration::from_secs(10)).await;

            other.command(&mut session, Kind::TestUnitReady);
            settle(&mut [&mut session]).await;
            other.take_events(&mut session).unwrap();
            assert_eq!(session.outstanding.len(), 1, "the write has no response, TEST UNIT READY has one");
            session.resets[0].last.is_some()
        });
        assert!(reported.await.unwrap(), "no unit attention reports the reset of the logical unit");
    });
}

/// Each waits for the end of the other's command, and both connections have ended.
#[test]
fn resets_whose_senders_are_gone_do_not_wait_for_each_other() {
    in_virtual_time(async {
        let (run, mut hosts) = two_hosts().await;
        let logins = run.poll_with(async {
            for (host, session) in &mut hosts {
                host.command(session, Kind::Write);
            }
            let [(one, first), (other, second)] = &mut hosts;
            settle(&mut [first, second]).await;
            one.reset(first);
            other.reset(second);
            settle(&mut [first, second]).await;
            assert_eq!((first.functions.len(), second.functions.len()), (1, 1), "both are in progress");
            let hosts = hosts.map(|(host, _cut)| host);
            for mut host in hosts {
                host.login().await?;
            }
            Ok::<(), String>(())
        });
        assert_eq!(logins.await.unwrap(), Ok(()));
    });
}
