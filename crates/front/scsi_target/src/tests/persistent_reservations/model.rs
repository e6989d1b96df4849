//! Random service actions by four nexuses against a model, which shares no code with the state
//! machine.

use super::*;
use random::Random;

fn choice<T: Copy>(random: &Random, from: &[T]) -> T {
    from[random.index(from.len())]
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Good,
    Conflict,
    Check(u8, u8),
}

const NOBODY: usize = usize::MAX;

/// Keys of the four nexuses (0: none), holder and type of the reservation (0: none). With all
/// registrants types `holder` has no meaning.
#[derive(Clone, Debug)]
struct Model {
    keys: [u64; 4],
    holder: usize,
    kind: u8,
    generation: u32,
}

impl Model {
    fn holds(&self, nexus: usize) -> bool {
        self.kind != 0 && self.keys[nexus] != 0 && (self.kind >= 7 || self.holder == nexus)
    }

    fn free(&mut self) {
        (self.kind, self.holder) = (0, NOBODY);
    }

    fn hold(&mut self, nexus: usize, kind: u8) {
        self.kind = kind;
        self.holder = if kind >= 7 { NOBODY } else { nexus };
    }

    /// Expected response, and the unit attention (ASCQ of 2Ah; 0: none) of each nexus.
    fn step(&mut self, nexus: usize, action: u8, kind: u8, key: u64, other: u64) -> (Answer, [u8; 4]) {
        let mut told = [0; 4];
        let before = self.clone();
        let mine = self.keys[nexus];
        let exists = TYPES.contains(&kind);
        let answer = match action {
            REGISTER if key != mine => Answer::Conflict,
            REGISTER | REGISTER_AND_IGNORE => {
                if mine != 0 || other != 0 {
                    self.generation += 1;
                }
                let held = self.holds(nexus);
                self.keys[nexus] = other;
                let last = self.keys == [0; 4];
                if other == 0 && held && (self.kind < 7 || last) {
                    for (index, told) in told.iter_mut().enumerate() {
                        if index != nexus && self.keys[index] != 0 && self.kind >= 5 {
                            *told = 0x04;
                        }
                    }
                    self.free();
                }
                Answer::Good
            }
            RESERVE if !exists => Answer::Check(0x24, 0x00),
            _ if mine == 0 || mine != key => Answer::Conflict,
            RESERVE => match self.kind {
                0 => {
                    self.hold(nexus, kind);
                    Answer::Good
                }
                present if present == kind && self.holds(nexus) => Answer::Good,
                _ => Answer::Conflict,
            },
            RELEASE if !self.holds(nexus) => Answer::Good,
            RELEASE if kind != self.kind => Answer::Check(0x26, 0x04),
            RELEASE => {
                for (index, told) in told.iter_mut().enumerate() {
                    if index != nexus && self.keys[index] != 0 && kind >= 5 {
                        *told = 0x04;
                    }
                }
                self.free();
                Answer::Good
            }
            CLEAR => {
                for (index, told) in told.iter_mut().enumerate() {
                    if index != nexus && self.keys[index] != 0 {
                        *told = 0x03;
                    }
                }
                self.keys = [0; 4];
                self.generation += 1;
                self.free();
                Answer::Good
            }
            _ => {
                let everybody = other == 0 && self.kind >= 7;
                let of_holder = self.holder != NOBODY && self.keys[self.holder] == other;
                let takes_over = everybody || of_holder;
                let victims: Vec<usize> =
                    (0..4).filter(|n| self.keys[*n] != 0 && (everybody || self.keys[*n] == other)).collect();
                if other == 0 && !everybody {
                    Answer::Check(0x26, 0x00)
                } else if takes_over && !exists {
                    Answer::Check(0x24, 0x00)
                } else if victims.is_empty() {
                    Answer::Conflict
                } else {
                    for victim in victims {
                        if victim != nexus {
                            told[victim] = 0x05;
                        }
                        if victim != nexus || !takes_over {
                            self.keys[victim] = 0;
                        }
                    }
                    if takes_over {
                        let changed = self.kind != kind;
                        self.hold(nexus, kind);
                        for (index, told) in told.iter_mut().enumerate() {
                            if changed && index != nexus && self.keys[index] != 0 {
                                *told = 0x04;
                            }
                        }
                    } else if self.keys == [0; 4] {
                        self.free();
                    }
                    self.generation += 1;
                    Answer::Good
                }
            }
        };
        if answer != Answer::Good {
            *self = before;
        }
        (answer, told)
    }

    /// Whether a READ or a WRITE of the nexus is permitted.
    fn lets(&self, nexus: usize, writes: bool) -> bool {
        match self.kind {
            0 => true,
            1 | 3 if self.holds(nexus) => true,
            5..=8 if self.keys[nexus] != 0 => true,
            1 | 5 | 7 => !writes,
            _ => false,
        }
    }
}

#[test]
fn random_service_actions_agree_with_the_model() {
    for seed in 1..=24u64 {
        let random = Random::new(seed);
        let array = Array::new();
        let c = array.target.attach_nexus("iqn.c,i,0x1", "iqn.c", 1);
        array.settle(c);
        let nexuses = [array.a, array.a2, array.b, c];
        let mut model = Model { keys: [0; 4], holder: NOBODY, kind: 0, generation: 0 };
        let mut taken_over = 0;
        for step in 0..600 {
            let nexus = choice(&random, &[0, 1, 2, 3]);
            let action = choice(
                &random,
                &[
                    REGISTER,
                    REGISTER,
                    REGISTER_AND_IGNORE,
                    RESERVE,
                    RESERVE,
                    RELEASE,
                    CLEAR,
                    PREEMPT,
                    PREEMPT,
                    PREEMPT_AND_ABORT,
                ],
            );
            let action = if action == CLEAR && random.below(4) != 0 { RESERVE } else { action };
            let kind = if random.below(16) == 0 { 2 } else { choice(&random, &TYPES) };
            let kind = if action == RELEASE && random.below(3) != 0 { model.kind } else { kind };
            let key = if random.below(6) == 0 { random.below(4) } else { model.keys[nexus] };
            let other = random.below(4);
            let path = array.on(nexuses[nexus], 0);
            let what = format!("seed {seed}, step {step}: {nexus} {action} type {kind} {key} {other} on {model:?}");
            let response = out(&path, action, kind, key, other);
            let answer = match response.status {
                GOOD => Answer::Good,
                RESERVATION_CONFLICT => Answer::Conflict,
                _ => {
                    assert_eq!(response.sense[2], 0x05, "{what}");
                    Answer::Check(response.sense[12], response.sense[13])
                }
            };
            let (expected, told) = model.step(nexus, action, kind, key, other);
            assert_eq!(answer, expected, "{what}");
            taken_over += u32::from(action >= PREEMPT && answer == Answer::Good);
            for (index, asc) in told.into_iter().enumerate() {
                let wanted = (asc != 0).then_some((0x2a, asc));
                assert_eq!(attention(&array.on(nexuses[index], 0)), wanted, "nexus {index} after {what}");
            }
            let mut expected_keys: Vec<u64> = model.keys.into_iter().filter(|key| *key != 0).collect();
            expected_keys.sort_unstable();
            let (generation, mut found) = keys(&path);
            found.sort_unstable();
            assert_eq!((generation, found), (model.generation, expected_keys), "{what}");
            let holder = if model.holder == NOBODY { 0 } else { model.keys[model.holder] };
            let expected_reservation = (model.kind != 0).then_some((holder, model.kind));
            assert_eq!(reservation(&path), expected_reservation, "{what}");
            for (index, nexus) in nexuses.into_iter().enumerate() {
                let path = array.on(nexus, 0);
                let read = path.command(&cdb16(0x88, 0, 0, 1)).status == GOOD;
                let write = path.data_out(&cdb16(0x8a, 0, 0, 1), &pattern(1, 1)).status == GOOD;
                assert_eq!((read, write), (model.lets(index, false), model.lets(index, true)), "{index} after {what}");
            }
        }
        assert!(taken_over > 20, "the generator preempts");
    }
}
