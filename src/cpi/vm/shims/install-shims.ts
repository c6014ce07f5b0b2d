import { hostnameShim } from './hostname-shim.ts';
import { mountShim } from './mount-shim.ts';
import { serviceShim } from './service-shim.ts';
import { shimFunctions } from './shim-functions.ts';
import { umountShim } from './umount-shim.ts';

/** The shims are on the container's own root file system, so what they record is valid for one life of it. */
const shims: Readonly<Record<string, string>> = {
  functions: shimFunctions,
  hostname: hostnameShim,
  mount: mountShim,
  sv: serviceShim,
  systemctl: serviceShim,
  umount: umountShim,
};

/** Quotes `text` as one argument of a shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

// the shell writes the files itself: a process for each would take most of the entry's time
const install = ([name, text]: readonly [string, string]): string =>
  `printf %s ${shellQuote(text)} > "$shims/${name}"\n`;

/**
 * Shell commands that write the shims and set `shims` to their folder, to be put first in an agent's PATH.
 */
export const installShims = `shims=/var/lib/bosh-kubernetes/shims
mkdir -p "$shims"
${Object.entries(shims).map(install).join('')}chmod 755 "$shims"/*
`;
