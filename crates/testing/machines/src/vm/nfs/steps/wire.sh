# Packets of a mount with version $VERSION, dissected by tshark.

### all that was sent and received is well-formed, and no call is refused but those of NFSACL
tcpdump -i eth0 -s 0 -B 16384 -w /tmp/wire.pcap tcp port $PORT 2>/tmp/tcpdump.log &
capture=$!
wait_until 30 grep -q 'listening on' /tmp/tcpdump.log
mount_share $VERSION s /mnt/s
mkdir /mnt/s/wire
cd /mnt/s/wire
seq 10000 >file
cp file copied
mkdir directory
mv copied directory/moved
ln file hard
ln -s file symbolic
chmod 600 file
touch -d @1000 file
mkfifo fifo
ls -lR . >/dev/null
fails 'No such file' cat none
if [ $VERSION != 3 ]; then
    flock file true
fi
if [ $VERSION = 4.2 ]; then
    cp --reflink=always file clone
    xfs_io -f -c 'copy_range -s 0 -d 0 -l 10000 file' copied
    fallocate -l 20000 file
    fallocate -p -o 4096 -l 8192 file
    xfs_io -c 'seek -a 0' file
    setfattr -n user.name -v value file
    getfattr -d file
fi
drop
cat file >/dev/null
df .
cd /
rm -r /mnt/s/wire
umount /mnt/s
sleep 1
kill $capture
wait $capture || true
! grep -E '^[1-9][0-9]* packets dropped by kernel' /tmp/tcpdump.log
tshark -r /tmp/wire.pcap -d tcp.port==$PORT,rpc -Y 'rpc.msgtyp == 1' 2>/dev/null | wc -l >/tmp/replies
cat /tmp/replies
[ $(cat /tmp/replies) -gt 50 ]
tshark -r /tmp/wire.pcap -d tcp.port==$PORT,rpc -Y '_ws.malformed || (rpc.state_accept != 0 && !(rpc.program == 100227)) || rpc.replystat != 0' 2>/dev/null >/tmp/malformed
head -3 /tmp/malformed
[ ! -s /tmp/malformed ]

### no packet was sent again by the server
tshark -r /tmp/wire.pcap -d tcp.port==$PORT,rpc -Y "tcp.analysis.retransmission && tcp.srcport == $PORT" 2>/dev/null >/tmp/again
[ ! -s /tmp/again ]
