//! I_T nexuses: an initiator port that is logged in through a target port, with the logical units
//! that it sees and the unit attentions pending on each (the I_T_L nexus, SAM-5 §4.8).

use crate::copies::Copies;
use crate::logical_unit::LogicalUnit;
use crate::nexus_id::NexusId;
use crate::observed::{Observations, Observed, SeenHere, UnitSeen};
use crate::sense::Fault;
use scsi::{AdditionalSense, LogicalUnitNumber};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use unit::{AccessState, Registrant, ReservationClass, Unit};

/// Facts of a nexus, given when it was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NexusInfo {
    /// Identifier.
    pub id: NexusId,
    /// Initiator port name: the initiator's name with its ISID (RFC 7143 §4.2.7).
    pub initiator_port: String,
    /// Initiator name, which access grants refer to.
    pub initiator: String,
    /// Relative target port identifier.
    pub relative_target_port: u16,
}

/// Logical unit as one I_T nexus sees it.
#[derive(Debug)]
pub(crate) struct ItlNexus<D> {
    pub lun: LogicalUnitNumber,
    pub logical_unit: Rc<LogicalUnit<D>>,
    attentions: RefCell<VecDeque<AdditionalSense>>,
    /// What the host has looked at and used here.
    pub seen: SeenHere,
}

impl<D> ItlNexus<D> {
    /// `attentions`: unit attentions that are already pending.
    pub fn new(
        lun: LogicalUnitNumber,
        logical_unit: Rc<LogicalUnit<D>>,
        attentions: VecDeque<AdditionalSense>,
    ) -> Self {
        Self { lun, logical_unit, attentions: RefCell::new(attentions), seen: SeenHere::default() }
    }

    /// State of the volume, shared with other protocols.
    pub fn unit(&self) -> &Unit<D> {
        self.logical_unit.unit()
    }

    /// Takes all unit attentions.
    pub fn take_attentions(&self) -> VecDeque<AdditionalSense> {
        self.attentions.take()
    }

    /// Queues a unit attention unless it is already pending. A reset is queued first.
    pub fn raise(&self, attention: AdditionalSense) {
        let mut attentions = self.attentions.borrow_mut();
        if attentions.contains(&attention) {
            return;
        }
        if attention.code() == AdditionalSense::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED.code() {
            attentions.push_front(attention);
        } else {
            attentions.push_back(attention);
        }
    }

    /// Takes the next unit attention.
    pub fn take_attention(&self) -> Option<AdditionalSense> {
        let mut attentions = self.attentions.borrow_mut();
        let attention = attentions.pop_front();
        if attentions.is_empty() && attentions.capacity() > 0 {
            *attentions = VecDeque::new();
        }
        attention
    }

    /// Returns the next unit attention and leaves it pending.
    pub fn pending_attention(&self) -> Option<AdditionalSense> {
        self.attentions.borrow().front().copied()
    }

    /// Withdraws a unit attention that no longer applies.
    pub fn clear(&self, attention: AdditionalSense) {
        self.attentions.borrow_mut().retain(|waiting| *waiting != attention);
    }
}

/// Unit attentions of a logical unit that the nexus does not see at present.
type HiddenAttentions<D> = (Weak<LogicalUnit<D>>, VecDeque<AdditionalSense>);

/// An attached I_T nexus.
#[derive(Debug)]
pub(crate) struct Nexus<D> {
    pub id: NexusId,
    pub initiator_port: String,
    pub initiator: Arc<str>,
    pub relative_target_port: u16,
    /// Visible logical units, ascending by LUN.
    view: RefCell<Vec<Rc<ItlNexus<D>>>>,
    /// Unit attentions of logical units that the nexus does not see now, kept until it sees them
    /// again.
    hidden_attentions: RefCell<Vec<HiddenAttentions<D>>>,
    pub copies: Copies,
    /// Owner of the nexus's registrations; `None` when the initiator port has no name by which it
    /// could be found again.
    pub registrant: Option<Registrant>,
    /// State of the port's group, copied here because every command checks it.
    access_state: Cell<AccessState>,
    /// The session carries QUERY TASK and the other functions of RFC 7144.
    query_functions: Cell<bool>,
    pub observations: Observations,
}

impl<D> Nexus<D> {
    /// The logical unit at a LUN.
    pub fn at(&self, lun: LogicalUnitNumber) -> Option<Rc<ItlNexus<D>>> {
        let view = self.view.borrow();
        let index = view.binary_search_by_key(&lun, |path| path.lun).ok()?;
        view.get(index).cloned()
    }

    /// Visible logical units, ascending by LUN.
    pub fn view(&self) -> Vec<Rc<ItlNexus<D>>> {
        self.view.borrow().clone()
    }

    /// Returns the first visible logical unit for which `wanted` holds.
    pub fn find(&self, wanted: impl Fn(&LogicalUnit<D>) -> bool) -> Option<Rc<ItlNexus<D>>> {
        self.view.borrow().iter().find(|path| wanted(&path.logical_unit)).cloned()
    }

    /// Whether the nexus sees exactly this logical unit, at any LUN.
    pub fn sees(&self, unit: &LogicalUnit<D>) -> bool {
        self.view.borrow().iter().any(|path| std::ptr::eq(&*path.logical_unit, unit))
    }

    /// Replaces the view; `view` is ascending by LUN.
    pub fn set_view(&self, view: Vec<Rc<ItlNexus<D>>>) {
        self.view.replace(view);
    }

    /// Keeps the unit attentions of a logical unit that the nexus no longer sees.
    pub fn keep_attentions(&self, path: &ItlNexus<D>) {
        let mut hidden = self.hidden_attentions.borrow_mut();
        hidden.retain(|(unit, _)| unit.strong_count() > 0);
        let attentions = path.take_attentions();
        if !attentions.is_empty() {
            hidden.push((Rc::downgrade(&path.logical_unit), attentions));
        }
    }

    /// Returns and removes the kept unit attentions of a logical unit.
    pub fn restore_attentions(&self, unit: &Rc<LogicalUnit<D>>) -> VecDeque<AdditionalSense> {
        let mut hidden = self.hidden_attentions.borrow_mut();
        let at = hidden.iter().position(|(other, _)| std::ptr::eq(other.as_ptr(), Rc::as_ptr(unit)));
        at.map(|at| hidden.swap_remove(at).1).unwrap_or_default()
    }

    /// State of the port's group.
    pub fn access_state(&self) -> AccessState {
        self.access_state.get()
    }

    pub fn set_access_state(&self, state: AccessState) {
        self.access_state.set(state);
    }

    /// The session carries QUERY TASK and the other functions of RFC 7144.
    pub fn query_functions(&self) -> bool {
        self.query_functions.get()
    }

    pub fn set_query_functions(&self, carried: bool) {
        self.query_functions.set(carried);
    }

    /// Refuses a command that a reservation of the logical unit forbids to this nexus.
    pub fn check_reservation(&self, unit: &LogicalUnit<D>, class: ReservationClass) -> Result<(), Fault> {
        if !unit.unit().reservations.permits(self.id.client(), self.registrant.as_ref(), class) {
            return Err(unit.conflict());
        }
        Ok(())
    }

    /// What the host has looked at and used.
    pub fn observed(&self) -> Observed {
        let unit =
            |path: &Rc<ItlNexus<D>>| UnitSeen { volume: path.unit().volume(), lun: path.lun.0, seen: path.seen.all() };
        self.observations.all(|| self.view.borrow().iter().map(unit).collect())
    }

    pub fn info(&self) -> NexusInfo {
        NexusInfo {
            id: self.id,
            initiator_port: self.initiator_port.clone(),
            initiator: self.initiator.to_string(),
            relative_target_port: self.relative_target_port,
        }
    }
}

/// Attached nexuses, found by index.
#[derive(Debug)]
pub(crate) struct NexusTable<D> {
    slots: Vec<(u32, Option<Rc<Nexus<D>>>)>,
}

impl<D> Default for NexusTable<D> {
    fn default() -> Self {
        Self { slots: Vec::new() }
    }
}

impl<D> NexusTable<D> {
    /// Adds a nexus. `registrant`: owner of its registrations.
    pub fn insert(
        &mut self,
        initiator_port: String,
        initiator: &str,
        relative_target_port: u16,
        registrant: Option<Registrant>,
    ) -> Rc<Nexus<D>> {
        let free = self.slots.iter().position(|(generation, nexus)| nexus.is_none() && *generation < u32::MAX);
        let index = free.unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        let slot = u32::try_from(index).unwrap_or(u32::MAX);
        let make = |id| {
            Rc::new(Nexus {
                id,
                initiator_port,
                initiator: Arc::from(initiator),
                relative_target_port,
                view: RefCell::default(),
                hidden_attentions: RefCell::default(),
                copies: Copies::default(),
                registrant,
                access_state: Cell::default(),
                query_functions: Cell::new(false),
                observations: Observations::default(),
            })
        };
        if let Some((generation, place)) = self.slots.get_mut(index) {
            *generation += 1;
            let nexus = make(NexusId::new(slot, *generation));
            *place = Some(Rc::clone(&nexus));
            return nexus;
        }
        make(NexusId::new(slot, 0))
    }

    pub fn get(&self, id: NexusId) -> Option<Rc<Nexus<D>>> {
        let (_, nexus) = self.slots.get(id.slot()?)?;
        nexus.as_ref().filter(|nexus| nexus.id == id).cloned()
    }

    pub fn remove(&mut self, id: NexusId) -> Option<Rc<Nexus<D>>> {
        let (_, nexus) = self.slots.get_mut(id.slot()?)?;
        if nexus.as_ref()?.id == id { nexus.take() } else { None }
    }

    pub fn all(&self) -> Vec<Rc<Nexus<D>>> {
        self.slots.iter().filter_map(|(_, nexus)| nexus.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_nexus_is_not_found_by_its_successor_in_the_slot() {
        let mut table = NexusTable::<()>::default();
        let first = table.insert("a,i,1".into(), "a", 1, None).id;
        assert!(table.remove(first).is_some());
        let second = table.insert("b,i,1".into(), "b", 1, None).id;
        assert_ne!(first, second);
        assert!(table.get(first).is_none());
        assert!(table.remove(first).is_none());
        assert_eq!(table.get(second).map(|nexus| nexus.initiator.to_string()), Some("b".to_owned()));
    }
}
