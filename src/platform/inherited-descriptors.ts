import { readFileSync, readdirSync } from 'node:fs';

const closeOnExec = 0o2000000;

/**
 * Returns `stdio` for spawn() of a command that must not inherit descriptors of this process: the given
 * three, and `empty`, an open /dev/null, in place of each other descriptor that a child would inherit. Node
 * sets close-on-exec only up to the first gap in the descriptor numbers, and a shell such as dash cannot
 * close a descriptor above 9.
 */
export function stdioWithoutInheritedFds<T>(
  stdio: readonly [T, T, T],
  empty: number,
): (T | 'ignore' | number)[] {
  const all: (T | 'ignore' | number)[] = [...stdio];
  for (const descriptor of inheritedDescriptors()) {
    // libuv leaves a descriptor above 2 unchanged if the option is `ignore`
    while (all.length < descriptor) all.push('ignore');
    if (descriptor >= stdio.length) all[descriptor] = empty;
  }
  return all;
}

/**
 * Returns the inherited descriptors in ascending order. On other systems than Linux, libuv lets a child
 * inherit none.
 */
function inheritedDescriptors(): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd')
    .map(Number)
    .toSorted((one, other) => one - other)
    .filter(isInherited);
}

function isInherited(descriptor: number): boolean {
  try {
    const [, flags = '0'] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch (error) {
    // the descriptor of readdir itself, which is closed now
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
