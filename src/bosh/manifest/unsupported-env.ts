type Env = Readonly<Record<string, unknown>>;

/** A pod has neither an ephemeral disk to format nor a swap partition. */
const noEffectInPod = [
  'bosh.swap_size',
  'persistent_disk_fs',
  'persistent_disk_mount_options',
  'persistent_disk_partitioner',
];
/** In upstream's agent, these depend on the image or on a real machine. */
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
  /** The key in the env, with dots: `bosh.swap_size`. */
  readonly key: string;
  /** The predicate of a sentence whose subject is the key. */
  readonly reason: string;
}

/** Returns the keys of a VM's env (bosh-agent: settings/settings.go) that have no effect, with the reason. */
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
