/** What a user has chosen in this browser: theme and time zone. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { isZone, type Zone } from "./numbers";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  theme: Theme;
  zone: Zone;
  setTheme(theme: Theme): void;
  setZone(zone: Zone): void;
}

const SettingsContext = createContext<Settings>({
  theme: "system",
  zone: "local",
  setTheme: () => undefined,
  setZone: () => undefined,
});
export const useSettings = () => useContext(SettingsContext);

function kept<T extends string>(key: string, known: (found: T) => boolean, usual: T): T {
  try {
    const found = localStorage.getItem(key) as T | null;
    return found && known(found) ? found : usual;
  } catch {
    return usual; // a browser that keeps nothing
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // it counts until the page is left
  }
}

export function SettingsProvider({ children }: { children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() => kept<Theme>("theme", (found) => ["system", "light", "dark"].includes(found), "system"));
  const [zone, setZone] = useState<Zone>(() => kept<Zone>("zone", isZone, "local"));
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    keep("theme", theme);
  }, [theme]);
  useEffect(() => keep("zone", zone), [zone]);
  const value = useMemo(() => ({ theme, zone, setTheme, setZone }), [theme, zone]);
  return <SettingsContext.Provider value={value}>{children}</SettingsContext.Provider>;
}
