import type { Manifest } from './manifest.ts';

/** A network as create_vm gets it (reference agent-bootstrap 1.6). */
export type NetworkInterface = Readonly<Record<string, unknown>>;

/** The networks of the manifest's instance group by name, as create_vm gets them. */
export function networkInterfaces(manifest: Manifest): Readonly<Record<string, NetworkInterface>> {
  throw new Error(`networkInterfaces is not written yet (${manifest.name})`);
}
