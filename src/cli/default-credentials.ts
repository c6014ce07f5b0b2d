/** Returns the file where `up` keeps a manifest's generated secrets if --vars-store is not given. */
export function defaultVarsStorePath(manifestPath: string): string {
  return manifestPath.replace(/(\.ya?ml)?$/, '-creds.yml');
}
