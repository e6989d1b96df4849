//! Limits of volumes and hosts, which are set, changed and removed at random while hosts are active; and the rules that
//! hold whatever the limits are.

use crate::machine::Machine;
use crate::shared::Shared;
use control::VolumeId;
use qos::{Burst, HostId, Limits, PolicyId, Rate};
use random::Random;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Policies that there may be.
const POLICIES: u64 = 3;
/// Connections that may have a policy of their own: the first ones of each start of the array.
const CONNECTIONS: u64 = 8;

/// Whoever changes limits.
pub(crate) struct Administrator {
    random: Random,
    next: Pin<Box<Sleep>>,
    /// Start of the array that has its first limits.
    incarnation: u64,
}

impl Administrator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed ^ 0x716f_7361), next: Box::pin(sleep(Duration::ZERO)), incarnation: 0 }
    }

    /// Changes what is due, and checks the commands that wait.
    pub fn poll(&mut self, context: &mut Context<'_>, machine: &Machine, shared: &Shared) -> Result<(), String> {
        let incarnation = shared.incarnation.get();
        if std::mem::replace(&mut self.incarnation, incarnation) != incarnation {
            self.begin(machine, shared);
        }
        while self.next.as_mut().poll(context).is_ready() {
            self.change(machine, shared);
            let pause = Duration::from_millis(self.random.below([200, 1000, 4000][self.random.below(3) as usize]) + 1);
            self.next.as_mut().reset(Instant::now() + pause);
        }
        machine.array.check_limits()
    }

    /// Limits every volume of an array that has started.
    fn begin(&self, machine: &Machine, shared: &Shared) {
        let live = machine.array.live();
        for policy in 0..POLICIES {
            live.set_policy(PolicyId(policy), Some((self.limits(), self.random.chance(50))));
        }
        for volume in machine.array.control().directory().volumes() {
            live.set_volume_policy(VolumeId(volume.object.0), Some(PolicyId(self.random.below(POLICIES))));
        }
        shared.log(format_args!("the volumes have limits"));
    }

    fn change(&self, machine: &Machine, shared: &Shared) {
        let (random, live) = (&self.random, machine.array.live());
        let policy = PolicyId(random.below(POLICIES));
        let attached = random.chance(70).then_some(policy);
        match random.below(4) {
            0 | 1 => {
                let limits = random.chance(80).then(|| (self.limits(), random.chance(50)));
                shared.log(format_args!("{policy:?}: {limits:?}"));
                live.set_policy(policy, limits);
            }
            2 => {
                let directory = machine.array.control().directory();
                let volumes: Vec<_> = directory.volumes().map(|volume| VolumeId(volume.object.0)).collect();
                let Some(volume) = volumes.get(random.below(volumes.len() as u64) as usize) else { return };
                shared.log(format_args!("{volume:?} has {attached:?}"));
                live.set_volume_policy(*volume, attached);
            }
            _ => {
                let host = HostId::of_connection(1 + random.below(CONNECTIONS));
                shared.log(format_args!("{host:?} has {attached:?}"));
                live.set_host_policy(host, attached);
            }
        }
    }

    /// Limits, also such as no administrator may set: the fewer commands pass, the more wait.
    fn limits(&self) -> Limits {
        let random = &self.random;
        let rate = |choices: [u64; 4]| {
            let per_second = choices[random.below(4) as usize];
            let burst = Burst { per_second: per_second * 4, lasts: Duration::from_secs(1) };
            random.chance(70).then(|| Rate { per_second, burst: random.chance(20).then_some(burst) })
        };
        let operations = rate([20, 20, 100, 3000]);
        let bytes = rate([1 << 20, 1 << 20, 4 << 20, 64 << 20]);
        Limits { operations, bytes, weight: [10, 100, 1000][random.below(3) as usize] }
    }
}
