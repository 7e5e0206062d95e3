/** A question before something is changed, with the command that does the same. */
import { useMemo, useState, type ReactNode } from "react";
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from "react-aria-components";
import { RefusedFields, refusedFields } from "./fields";
import { Command, Failure } from "./parts";

export function Confirm(props: {
  label: string;
  title: string;
  line: string;
  danger?: boolean;
  small?: boolean;
  /** It is what the page is for. */
  primary?: boolean;
  /** What is asked for cannot be sent yet. */
  incomplete?: boolean;
  act(): Promise<unknown>;
  children?: ReactNode;
}) {
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const refused = useMemo(() => refusedFields(error), [error]);
  const act = async (close: () => void) => {
    setBusy(true);
    setError(null);
    try {
      await props.act();
      close();
    } catch (found) {
      setError(found as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <DialogTrigger onOpenChange={() => setError(null)}>
      <Button className={[props.danger && "danger", props.primary && "primary", props.small && "small"].filter(Boolean).join(" ")}>{props.label}</Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">
            {({ close }) => (
              <>
                <Heading slot="title">{props.title}</Heading>
                <RefusedFields.Provider value={refused}>{props.children}</RefusedFields.Provider>
                <Command line={props.line} />
                {error && <Failure error={error} />}
                <div className="buttons">
                  <Button autoFocus onPress={close}>
                    Leave it
                  </Button>
                  <Button
                    className={props.danger ? "danger" : "primary"}
                    isDisabled={busy || (props.incomplete ?? false)}
                    onPress={() => void act(close)}
                  >
                    {props.label}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
