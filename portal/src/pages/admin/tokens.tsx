/** Personal tokens of everybody whom one may see. */
import { useQuery } from "@tanstack/react-query";
import { change, part } from "../../api/client";
import { tokens } from "../../api/reads";
import type { TokenView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { may } from "../../ui/may";
import { Badge, Empty, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import type { TabProps } from "./admin";
import { NewToken } from "./token";

const where = (row: TokenView) => row.queue || "the whole fleet";
const iso = (at: number) => new Date(at).toISOString();

const COLUMNS: readonly Column<TokenView>[] = [
  { key: "id", title: "Token", width: "minmax(7rem, 1fr)", value: (row) => row.id, cell: (row) => <code>{harmless(row.id, 24)}</code> },
  { key: "user", title: "User", width: "minmax(6rem, 1.2fr)", value: (row) => row.user, cell: (row) => <Name text={row.user} most={40} /> },
  { key: "role", title: "Limited to", width: "8rem", value: (row) => row.role, cell: (row) => <Badge text={row.role} tone="busy" /> },
  { key: "queue", title: "On", width: "minmax(6rem, 1fr)", wide: true, value: where, cell: (row) => <Name text={where(row)} most={40} /> },
  { key: "label", title: "What it is for", width: "minmax(6rem, 2fr)", wide: true, value: (row) => row.label, cell: (row) => harmless(row.label || "–", 120) },
  { key: "until", title: "Expires", width: "8.5rem", value: (row) => iso(row.until), cell: (row) => <Time at={row.until} /> },
];

export default function Tokens({ search, set }: TabProps) {
  const { me } = useVisitor();
  const found = useQuery(tokens);
  const chosen = found.data?.items.find((each) => each.id === search.at);
  return (
    <Listing
      nested
      title="Tokens"
      lead="What programs send in place of a sign-in: your own, and those of others where you may see them."
      file="tokens"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.id}
      words={(row) => [row.id, row.user, row.role, row.label]}
      search={search}
      set={set}
      line="ganglion token list"
      actions={may(me, "tokens") && <NewToken />}
      empty={
        <Empty title="There is no token">
          <p>
            {may(me, "tokens")
              ? "Make one for a script or for continuous integration, limited to what it needs."
              : "An admin of the whole fleet makes tokens for scripts and continuous integration."}
          </p>
        </Empty>
      }
      panel={
        chosen && (
          <Side label="Token" title={<code>{harmless(chosen.id, 40)}</code>} close={() => set({ at: undefined })}>
            <Facts
              rows={[
                ["user", <Name key="user" text={chosen.user} most={60} />],
                ["groups", harmless(chosen.groups.join(", "), 300)],
                ["limited to", `${chosen.role} on ${harmless(where(chosen), 60)}`],
                ["for", harmless(chosen.label, 200)],
                ["made", <Time key="at" at={chosen.at} exact />],
                ["by", <Name key="by" text={chosen.by} most={60} />],
                ["expires", <Time key="until" at={chosen.until} exact />],
              ]}
            />
            <div className="buttons">
              <Confirm
                danger
                label="Revoke"
                title={`Let token ${harmless(chosen.id, 40)} count no more?`}
                line={`ganglion token revoke ${word(chosen.id)}`}
                act={() => change("DELETE", `/tokens/${part(chosen.id)}`).then(() => set({ at: undefined }))}
              >
                <p>What sends it is refused at once. This cannot be undone: a new token is another one.</p>
              </Confirm>
            </div>
          </Side>
        )
      }
    />
  );
}
