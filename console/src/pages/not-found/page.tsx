// Page for an unknown path.

import type { JSX } from "solid-js";
import { Head } from "../../parts/head";

export default function NotFound(): JSX.Element {
  return (
    <>
      <Head title="There is no such page" />
      <p>
        The address may be from another version. <a href="/">Overview</a>, or <kbd>/</kbd> to search.
      </p>
    </>
  );
}
