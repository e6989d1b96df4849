# A share that refuses changes, with kept/file.

### files are read
equal "$(cat kept/file)" words
ls -l kept

### every change is refused
fails 'Read-only file system' touch kept/new
fails 'Read-only file system' mkdir kept/new
fails 'Read-only file system' rm -f kept/file
fails 'Read-only file system' mv kept/file kept/other
fails 'Read-only file system' ln kept/file kept/link
fails 'Read-only file system' ln -s x kept/symbolic
fails 'Read-only file system' chmod 600 kept/file
fails '$REFUSED' bash -c 'echo x >>kept/file'
fails '$REFUSED' truncate -s 0 kept/file
equal "$(cat kept/file)" words
