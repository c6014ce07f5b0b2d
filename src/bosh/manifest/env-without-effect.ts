type Env = Readonly<Record<string, unknown>>;

/** What these ask for a pod has not: a disk of its own to format, a swap partition. */
const noEffectInPod = [
  'bosh.swap_size',
  'persistent_disk_fs',
  'persistent_disk_mount_options',
  'persistent_disk_partitioner',
];
/** What upstream's agent does with these is a matter of the image or of a real machine. */
const noEffectWithOurAgent = [
  'bosh.agent.settings.tmpfs',
  'bosh.ipv6',
  'bosh.keep_root_password',
  'bosh.ntp',
  'bosh.password',
  'bosh.remove_dev_tools',
  'bosh.remove_static_libraries',
  'bosh.run_dir',
];

export interface UnusedEnvKey {
  /** Of the env, with dots: `bosh.swap_size`. */
  readonly key: string;
  /** Follows the name of the key in a sentence. */
  readonly reason: string;
}

/**
 * The keys of a VM's env (bosh-agent: settings/settings.go) that ask for something that is not done, by
 * name.
 */
export function unsupportedEnvKeys(env: Env): readonly UnusedEnvKey[] {
  const all = [
    ...noEffectWithOurAgent.map((key) => ({
      key,
      reason: "has no effect with our agent; upstream's, in a stemcell that has it, may know it",
    })),
    ...noEffectInPod.map((key) => ({ key, reason: 'has no effect in a pod' })),
  ];
  return all.filter(({ key }) => isGiven(env, key.split('.')));
}

function isGiven(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return value !== undefined && value !== null;
  return typeof value === 'object' && value !== null && isGiven((value as Env)[key], rest);
}
