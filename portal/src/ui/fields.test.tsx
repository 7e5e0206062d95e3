import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Problem } from "../api/client";
import { Field, RefusedFields, refusedFields } from "./fields";

it("shows what the server says of a field at that field", () => {
  const trouble = (key: string, detail: string) => ({ key, detail, hint: "", line: 0 });
  const error = new Problem(422, "input.field", "first", "", [trouble("nodes[1]", "there is no node n9"), trouble("begin", "no date")]);
  const shown = (name: string) =>
    renderToStaticMarkup(
      <RefusedFields.Provider value={refusedFields(error)}>
        <Field name={name} label="Nodes" value="n9" set={() => undefined} />
      </RefusedFields.Provider>,
    );
  expect(shown("nodes")).toContain("there is no node n9");
  expect(shown("nodes")).toContain('aria-invalid="true"');
  expect(shown("nodes")).toMatch(/aria-describedby="([^"]+)".*id="\1"/);
  expect(shown("reason")).toContain('aria-invalid="false"');
  expect(refusedFields(new Error("gone")).size).toBe(0);
});
