import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Problem } from "../api/client";
import { Failure, Name, Time } from "./parts";

it("shows names as text, in a direction of their own", () => {
  const shown = renderToStaticMarkup(<Name text={"<img src=x onerror=alert(1)>\u202e"} />);
  expect(shown).toContain("<bdi");
  expect(shown).not.toContain("<img");
  expect(shown).not.toContain("\u202e");
});

it("lists all that is wrong, and what to do", () => {
  const errors = ["name", "run"].map((key) => ({ key, detail: `${key} is wrong`, hint: "", line: 0 }));
  const shown = renderToStaticMarkup(<Failure error={new Problem(422, "input.field", "two", "look", errors)} />);
  for (const each of ["two", "look", "name is wrong", "run is wrong"]) expect(shown).toContain(each);
});

it("has a dash for what did not happen", () => {
  expect(renderToStaticMarkup(<Time at={null} />)).toContain("–");
});
