// Tabs of the pages about the array and its people.

import type { JSX } from "solid-js";
import { unless } from "../session";
import { Tabs } from "./head";

export function SettingsTabs(): JSX.Element {
  const people = () =>
    unless("admin") === undefined
      ? [
          { name: "People", path: "/settings/people" },
          { name: "Tokens", path: "/settings/tokens" },
          { name: "Sign-ins", path: "/settings/sign-ins" },
        ]
      : [];
  return (
    <Tabs
      label="Parts of settings"
      tabs={[{ name: "Array", path: "/settings" }, { name: "Limits", path: "/settings/limits" }, ...people()]}
    />
  );
}
