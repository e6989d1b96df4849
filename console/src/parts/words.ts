// Several words in one field.

/** Words of a text, with spaces, line ends or commas between them. */
export const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
