/** Versions of the CNI spec that this plugin supports, oldest first. */
export const supportedVersions = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof supportedVersions)[number];

export const newestVersion: CniVersion = '1.1.0';

export function isSupported(text: unknown): text is CniVersion {
  return supportedVersions.some((version) => version === text);
}

/** True if `version` is `than` or newer. */
export function isAtLeast(version: CniVersion, than: CniVersion): boolean {
  return supportedVersions.indexOf(version) >= supportedVersions.indexOf(than);
}
