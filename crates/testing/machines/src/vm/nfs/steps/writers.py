# Eight writers in the working directory. Each writes and synchronizes blocks of a file, creates and renames files, and
# takes a lock; what has been acknowledged goes to its journal in /tmp/journals.   usage: writers.py write|check
import fcntl, multiprocessing, os, random, sys

BLOCK = 4096


def block(writer, number):
    return (f'{writer} {number} ' * BLOCK).encode()[:BLOCK]


def change(operation, is_done):
    """Carries out an operation. A server that is killed before it replies is asked again, and may say that there is no
    such name, because it was carried out."""
    try:
        operation()
    except FileNotFoundError:
        if not is_done():
            raise


def write(writer):
    chance = random.Random(writer)
    data = os.open(f'data-{writer}', os.O_RDWR | os.O_CREAT)
    fcntl.lockf(data, fcntl.LOCK_EX)
    directory = os.open('.', os.O_RDONLY)
    with open(f'/tmp/journals/{writer}', 'w', buffering=1) as journal:
        number = 0
        while not os.path.exists('/tmp/stop'):
            number += 1
            place = chance.randrange(64)
            journal.write(f'begin {place} {number}\n')
            assert os.pwrite(data, block(writer, number), place * BLOCK) == BLOCK
            os.fsync(data)
            journal.write(f'block {place} {number}\n')
            if number % 4 == 0:
                with open(f'new-{writer}', 'wb') as new:
                    new.write(block(writer, number))
                    new.flush()
                    os.fsync(new.fileno())
                name = f'file-{writer}-{number}'
                change(lambda: os.rename(f'new-{writer}', name), lambda: os.path.exists(name))
                os.fsync(directory)
                journal.write(f'name {number}\n')
            if number % 12 == 0:
                old = f'file-{writer}-{number - 4}'
                change(lambda: os.unlink(old), lambda: not os.path.exists(old))
                journal.write(f'gone {number - 4}\n')


def check(writer):
    places, names, gone = {}, set(), set()
    for line in open(f'/tmp/journals/{writer}'):
        kind, *numbers = line.split()
        numbers = [int(number) for number in numbers]
        if kind == 'begin':
            places.setdefault(numbers[0], []).append(numbers[1])
        elif kind == 'block':
            places[numbers[0]] = [numbers[1]]
        elif kind == 'name':
            names.add(numbers[0])
        else:
            gone.add(numbers[0])
    with open(f'data-{writer}', 'rb') as data:
        for place, numbers in places.items():
            data.seek(place * BLOCK)
            found = data.read(BLOCK)
            assert found in [block(writer, number) for number in numbers], (writer, place, numbers, found[:20])
    for number in names - gone:
        with open(f'file-{writer}-{number}', 'rb') as file:
            assert file.read() == block(writer, number), (writer, number)
    for number in gone:
        assert not os.path.exists(f'file-{writer}-{number}'), (writer, number)
    return len(places), len(names), len(gone)


work = {'write': write, 'check': check}[sys.argv[1]]
with multiprocessing.Pool(8) as pool:
    for found in pool.imap(work, range(8)):
        print(found)
