/**
 * Describes in the message of a NOT_SUPPORTED what a director does after this error of resize_disk and
 * update_disk.
 */
export const directorFallbackHint = 'a director copies it file by file to another disk instead';
