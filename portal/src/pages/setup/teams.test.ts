import { expect, it } from "vitest";
import type { FlavorReport, QueueView } from "../../api/schema";
import { lineOf, namesIn, partsOf } from "./teams";

const flavor = (name: string, gpus: number) => ({ flavor: name, gpu_total_milli: gpus * 1000 }) as FlavorReport;
const root = { name: "vision", parent: "", quota: { H100: { gpu_milli: 5000 } } } as unknown as QueueView;

it("reads names, and divides whole GPUs", () => {
  expect(namesIn(" vision, nlp\nvision ")).toEqual(["vision", "nlp"]);
  expect(partsOf([flavor("H100", 8), flavor("A100", 2), flavor("cpu", 0)], [], 3)).toEqual({ H100: 2 });
  expect(partsOf([flavor("H100", 8)], [], 0)).toEqual({ H100: 8 });
  expect(partsOf([flavor("H100", 8)], [root], 1)).toEqual({ H100: 3 });
});

it("names the command that makes such a queue", () => {
  expect(lineOf("vision", { H100: 4 })).toBe("ganglion queues set vision --quota H100:4");
  expect(lineOf("$(x)", {})).toBe("ganglion queues set '$(x)'");
});
