import type { MountEntry } from '../../platform/mountinfo.ts';

/** Returns the mount that contains `path`, not counting a mount at `path` itself. */
export function holderOf(mounts: readonly MountEntry[], path: string): MountEntry | undefined {
  const above = mounts.filter(
    ({ target }) => target !== path && `${path}/`.startsWith(target === '/' ? '/' : `${target}/`),
  );
  return above.reduce<MountEntry | undefined>(
    (best, mount) => (best !== undefined && best.target.length > mount.target.length ? best : mount),
    undefined,
  );
}
