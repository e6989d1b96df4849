// What every dialog of an action is given.

export interface Closing {
  onClose: () => void;
}
