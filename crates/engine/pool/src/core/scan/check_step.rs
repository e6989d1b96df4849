//! Operation that drives a check of the pool in use.

use crate::core::Core;
use crate::core::io::CheckRead;
use crate::core::scan::online_check::OnlineCheck;
use crate::interface::PoolError;

use crate::interface::operation::{OperationId, Output};
use crate::medium::read_result;
use crate::schedule::step::Step;
use media::Done;
use media::MediaError;
use media::{BLOCK_BYTES, Media};

impl<M: Media> Core<M> {
    /// Executes one step of a check of the pool in use; starts a check if none is in progress.
    pub(in crate::core) fn check_step(&mut self, id: OperationId) -> Step {
        if self.online_check.is_none() {
            let length = (self.options.memory_bytes / 4 / (2 * BLOCK_BYTES)).clamp(256, 1 << 16) as u32;
            let length = length.min(self.map.space().layout().segments().max(1));
            self.online_check = Some(Box::new(OnlineCheck::new(self.schedule.next_number(), length)));
        }
        let Some(mut check) = self.online_check.take() else { return Step::Again };
        if check.driver().is_some_and(|other| other != id && self.schedule.contains(other)) {
            self.online_check = Some(check);
            return Step::Fail(PoolError::Busy("a check of the pool is under way".into()).into());
        }
        check.drive(id);
        let step = check.advance(&self.map, &mut self.medium, self.parked.any());
        match &step {
            Step::Done(_) => check.end_step(),
            Step::Later if check.wants_picture() => self.request_checkpoint(),
            _ => {}
        }
        if !matches!(&step, Step::Done(Output::Check(step)) if step.report.is_some()) && !matches!(step, Step::Fail(_))
        {
            self.online_check = Some(check);
        }
        step
    }

    pub(in crate::core) fn check_arrived(
        &mut self,
        generation: u64,
        read: CheckRead,
        result: Result<Done, MediaError>,
    ) {
        let Some(check) = self.online_check.as_mut().filter(|check| check.is(generation)) else { return };
        if let Some(id) = check.arrived(self.map.space(), read, read_result(result)) {
            self.schedule.make_ready(id);
        }
    }

    /// Ends a check of the pool in use before its result.
    pub fn abandon_check(&mut self) {
        let Some(id) = self.online_check.take().and_then(|check| check.driver()) else { return };
        if let Some(pending) = self.schedule.get_mut(id) {
            pending.fail(PoolError::Busy("the check was abandoned".into()).into());
            self.schedule.make_ready(id);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::interface::operation::Failure;
    use crate::{BlockNumber, CatalogChange, ObjectId, Operation, Options};
    use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};

    fn run(core: &mut Core<LocalMedia<SimDisk>>, operation: Operation) -> Output {
        let id = core.submit(operation);
        for _ in 0..10_000 {
            core.pump(1);
            if let Some((found, result)) = core.poll_finished() {
                assert_eq!(found, id);
                return result.unwrap();
            }
        }
        panic!("an operation never finishes");
    }

    #[test]
    fn wrong_counts_are_found() {
        let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 6));
        let format =
            FormatOptions { uuid: [1; 16], log_bytes: 1 << 20, root: crate::initial_root([1; 16]), overwrite: false };
        let media = LocalMedia::format(disk, format).unwrap();
        let (mut core, _) = Core::open(media, Options::default(), &mut |_| {}).unwrap();
        let create = CatalogChange::CreateVolume { id: ObjectId(16), size_bytes: 4 << 20 };
        run(&mut core, Operation::Catalog(vec![create]));
        run(
            &mut core,
            Operation::Write { object: ObjectId(16), offset: 0, data: vec![1; 65_536].into(), forced: false },
        );
        let check = |core: &mut Core<_>| loop {
            let Output::Check(step) = run(core, Operation::CheckStep) else { panic!() };
            if let Some(report) = step.report {
                return report;
            }
        };
        assert_eq!(check(&mut core).findings, Vec::<String>::new());
        let entry = core.map.lookup(ObjectId(16), BlockNumber::new(3)).unwrap();
        core.map.space_mut().increment(entry.address()).unwrap();
        core.map.objects_mut().adjust(ObjectId(16), |object| object.mapped += 1).unwrap();
        let report = check(&mut core);
        assert_eq!(report.count, 2, "{:?}", report.findings);
        assert!(report.findings[0].contains("its parent says 17"), "{:?}", report.findings);
        assert!(report.findings[1].contains("reference count 2, found 1"), "{:?}", report.findings);
        // After an abandoned check the next one starts from the beginning.
        let id = core.submit(Operation::CheckStep);
        core.pump(1);
        core.abandon_check();
        core.pump(1);
        let (found, result) = core.poll_finished().unwrap();
        assert!(found == id && result.is_err_and(|e| matches!(e, Failure::Pool(PoolError::Busy(_)))));
        assert!(!check(&mut core).is_clean());
    }
}
