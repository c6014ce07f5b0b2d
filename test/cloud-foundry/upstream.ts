/** cf-deployment's ops files that this project's files name in their first lines, in an order that fits. */
export const upstreamFiles = [
  'bosh-lite',
  'scale-to-one-az',
  // use-postgres.yml goes after it
  'use-compiled-releases',
  'use-postgres',
  'experimental/fast-deploy-with-downtime-and-danger',
  'enable-nfs-volume-service',
  'enable-smb-volume-service',
] as const;

/** Returns the name of an ops file's list of paths. */
export const listName = (file: string): string => file.replace('experimental/', '');

/** Returns the paths that are kept in a list: those below a variable except its name are not. */
export const keptPaths = (paths: readonly string[]): string[] =>
  paths.filter((path) => !/^\/variables\/name=[^/]*\/(?!name$)/u.test(path));
