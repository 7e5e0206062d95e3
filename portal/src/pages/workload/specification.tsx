/** What was submitted, as a file that can be submitted again. */
import { useMemo } from "react";
import { stringify } from "yaml";
import type { WorkloadDetail } from "../../api/schema";
import { Command } from "../../ui/parts";
import { harmless, word } from "../../ui/text";

export default function Specification({ job }: { job: WorkloadDetail }) {
  const text = useMemo(() => stringify(job.document, { lineWidth: 100 }), [job.document]);
  return (
    <>
      <pre className="code" tabIndex={0} aria-label="Specification">
        {text.split("\n").map((each) => harmless(each, 10_000)).join("\n")}
      </pre>
      <Command line={`ganglion get ${word(job.id)} -o yaml`} />
    </>
  );
}
