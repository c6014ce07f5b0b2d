import { access, readFile } from 'node:fs/promises';
import { ProductError } from '../../src/errors/product-error.ts';
import { tryModes, type NamespaceMode } from './namespace-mode.ts';

/** The kinds of namespaces that each pod gets, as the kernel's settings name them. */
const kinds = ['user', 'mnt', 'pid', 'uts', 'ipc'] as const;
type NamespaceKind = (typeof kinds)[number];
const nameOf = { user: 'user', mnt: 'mount', pid: 'pid', uts: 'uts', ipc: 'ipc' } as const;

/** The machine's settings that can forbid namespaces. `undefined`: the machine does not have this setting. */
export interface KernelSettings {
  readonly unprivilegedUserns: string | undefined;
  /** `user.max_<kind>_namespaces`, by kind. */
  readonly maxNamespaces: Readonly<Record<NamespaceKind, string | undefined>>;
  readonly apparmorRestriction: string | undefined;
  readonly inContainer: boolean;
  readonly uid: number;
}

/** Returns a sentence with the one setting that forbids the namespaces, and its remedy. */
export function explainRefusal(settings: KernelSettings, complaint: string): string {
  const { unprivilegedUserns, maxNamespaces, apparmorRestriction, inContainer, uid } = settings;
  if (/ENOENT|not found/.test(complaint)) {
    return `a program of util-linux is missing (${complaint}): install util-linux`;
  }
  const barred = kinds.find((kind) => maxNamespaces[kind] === '0');
  if (barred !== undefined) {
    const setting = `user.max_${barred}_namespaces`;
    return `${setting} is 0, so that pods get no ${nameOf[barred]} namespace: sysctl -w ${setting}=10000`;
  }
  if (uid !== 0 && unprivilegedUserns === '0') {
    return 'kernel.unprivileged_userns_clone is 0: sysctl -w kernel.unprivileged_userns_clone=1, or run as root';
  }
  if (uid !== 0 && apparmorRestriction === '1') {
    return (
      'kernel.apparmor_restrict_unprivileged_userns is 1: ' +
      'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or run as root'
    );
  }
  if (inContainer) {
    return (
      'this is a container whose engine forbids namespaces and mounts or hides parts of /proc: ' +
      'run it with --privileged (or CAP_SYS_ADMIN, no seccomp and AppArmor profile, and systempaths=unconfined)'
    );
  }
  return `the kernel or a security module refuses them: ${complaint.trim().split('\n', 1).join('')}`;
}

async function readSetting(name: string): Promise<string | undefined> {
  try {
    return (await readFile(`/proc/sys/${name}`, 'utf8')).trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'EACCES') {
      return undefined;
    }
    throw error;
  }
}

async function readSettings(uid: number): Promise<KernelSettings> {
  const markers = await Promise.all(
    ['/.dockerenv', '/run/.containerenv'].map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return {
    unprivilegedUserns: await readSetting('kernel/unprivileged_userns_clone'),
    maxNamespaces: {
      user: await readSetting('user/max_user_namespaces'),
      mnt: await readSetting('user/max_mnt_namespaces'),
      pid: await readSetting('user/max_pid_namespaces'),
      uts: await readSetting('user/max_uts_namespaces'),
      ipc: await readSetting('user/max_ipc_namespaces'),
    },
    apparmorRestriction: await readSetting('kernel/apparmor_restrict_unprivileged_userns'),
    inContainer: markers.includes(true),
    uid,
  };
}

/**
 * Finds out, by a trial in a new directory below `directory`, how the cluster can run here: as root, with
 * subordinate ids, or with a single id. Rejects with CLUSTER_UNSUPPORTED and the setting that prevents it.
 * Leaves nothing behind.
 */
export async function checkRequirements(directory: string): Promise<NamespaceMode> {
  if (process.platform !== 'linux') {
    throw new ProductError(
      'CLUSTER_UNSUPPORTED',
      `the embedded cluster needs Linux; this is ${process.platform}`,
    );
  }
  const uid = process.getuid?.() ?? 0;
  const trials = await tryModes(uid, directory);
  const last = trials.at(-1);
  if (last === undefined || last.complaint !== '') {
    const why = explainRefusal(await readSettings(uid), last?.complaint ?? '');
    throw new ProductError('CLUSTER_UNSUPPORTED', `the embedded cluster cannot run here: ${why}`);
  }
  return last.mode;
}
