// Properties that all dialogs have in common.

export interface Closing {
  onClose: () => void;
}
